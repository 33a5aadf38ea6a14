# /// case
# run = "python train.py"
# form = "log"
# truth = "get_peft_model is called on a model that already carries an adapter."
# expect = ["peft-second-wrap"]
# evidence = "trying to modify a model with PEFT for a second time|second time"
# ///
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

model = LlamaForCausalLM(LlamaConfig(vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64))
model = get_peft_model(model, LoraConfig(target_modules=["q_proj", "v_proj"]))
model = get_peft_model(model.base_model.model, LoraConfig(target_modules=["q_proj", "v_proj"], r=16))
model.print_trainable_parameters()
