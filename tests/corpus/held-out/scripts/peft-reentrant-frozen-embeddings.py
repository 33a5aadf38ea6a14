# /// case
# run = "python lora.py"
# name = "lora.py"
# form = "log"
# truth = "LoRA with re-entrant gradient checkpointing: the block inputs come from frozen embeddings and need no gradient."
# expect = ["peft-grad-checkpoint-inputs-no-grad"]
# also_ok = ["numerics-element0-no-grad"]
# evidence = "None of the inputs have requires_grad=True"
# ///
import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

model = LlamaForCausalLM(LlamaConfig(vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64))
model.gradient_checkpointing_enable({"use_reentrant": True})
model.config.use_cache = False
if hasattr(model, "disable_input_require_grads"):
    try:
        model.disable_input_require_grads()
    except AttributeError:
        pass
for parameter in model.parameters():
    parameter.requires_grad = False
for layer in model.model.layers:  # adapters made by hand, as older training scripts do
    layer.self_attn.q_proj = torch.nn.Sequential(layer.self_attn.q_proj, torch.nn.Linear(32, 32, bias=False))
model.train()
ids = torch.randint(0, 100, (2, 8))
loss = model(input_ids=ids, labels=ids).loss
print("loss", loss.item())
loss.backward()
