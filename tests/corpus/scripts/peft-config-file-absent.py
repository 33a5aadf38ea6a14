# /// case
# run = "python merge.py"
# name = "merge.py"
# form = "traceback"
# cut = "traceback"
# truth = "The adapter folder is the Trainer's checkpoint parent and holds no adapter_config.json."
# expect = ["peft-adapter-config-missing"]
# evidence = "Can't find 'adapter_config.json' at"
# ///
import os

from peft import PeftModel
from transformers import LlamaConfig, LlamaForCausalLM

os.makedirs("out/run3", exist_ok=True)
model = LlamaForCausalLM(LlamaConfig(vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64))
PeftModel.from_pretrained(model, "out/run3")
