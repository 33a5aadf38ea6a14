# /// case
# env = "old"
# run = "python chat.py"
# name = "chat.py"
# form = "traceback"
# cut = "traceback"
# truth = "The folder holds only the weights, no config.json."
# expect = ["hf-config-without-model-type"]
# evidence = "does not appear to have a file named config.json"
# ///
import os

import torch
from transformers import AutoModelForCausalLM

os.makedirs("merged", exist_ok=True)
torch.save({}, "merged/pytorch_model.bin")
AutoModelForCausalLM.from_pretrained("merged")
