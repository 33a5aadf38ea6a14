# /// case
# env = "old"
# run = "python lora.py"
# name = "lora.py"
# form = "traceback"
# truth = "query_key_value is no module of a LLaMA model."
# expect = ["peft-target-modules-not-found"]
# evidence = "Target modules .* not found in the base model"
# ///
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

model = LlamaForCausalLM(LlamaConfig(vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64))
get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", target_modules=["query_key_value"]))
