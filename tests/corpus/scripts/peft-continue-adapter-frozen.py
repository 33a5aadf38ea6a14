# /// case
# run = "python continue.py"
# name = "continue.py"
# form = "log"
# truth = "The adapter is loaded for inference (no is_trainable=True), so that nothing requires a gradient."
# expect = ["peft-adapter-frozen-after-load"]
# also_ok = ["numerics-element0-no-grad"]
# evidence = "element 0 of tensors does not require grad"
# ///
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM


def base():
    return LlamaForCausalLM(LlamaConfig(vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64))


get_peft_model(base(), LoraConfig(target_modules=["q_proj"])).save_pretrained("adapter")
model = PeftModel.from_pretrained(base(), "adapter")
model.print_trainable_parameters()
model.train()
ids = torch.randint(0, 100, (2, 8))
model(input_ids=ids, labels=ids).loss.backward()
