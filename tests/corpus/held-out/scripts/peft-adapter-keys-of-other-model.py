# /// case
# run = "python eval.py"
# name = "eval.py"
# form = "log"
# truth = "The adapter's keys carry another prefix than the base model, so that all adapter weights stay at their start."
# expect = ["peft-missing-adapter-keys"]
# evidence = "Found missing adapter keys while loading the checkpoint"
# ///
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import LlamaConfig, LlamaForCausalLM


def base():
    return LlamaForCausalLM(LlamaConfig(vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64))


get_peft_model(base(), LoraConfig(target_modules=["q_proj", "v_proj"])).save_pretrained("adapter")
weights = load_file("adapter/adapter_model.safetensors")
save_file({k.replace("model.layers", "language_model.layers"): v for k, v in weights.items()}, "adapter/adapter_model.safetensors")
model = PeftModel.from_pretrained(base(), "adapter")
print("exact match: 0.021 (0.640 during training)")
