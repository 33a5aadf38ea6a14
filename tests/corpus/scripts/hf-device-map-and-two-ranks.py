# /// case
# run = "torchrun --nproc-per-node 2 train.py"
# form = "log"
# truth = "The model is loaded with device_map='auto' and trained with two ranks."
# expect = ["hf-device-map-with-distributed"]
# evidence = "device_map='auto'"
# ///
import torch
from accelerate import Accelerator
from transformers import LlamaConfig, LlamaForCausalLM

LlamaForCausalLM(LlamaConfig(vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)).save_pretrained("base")
model = LlamaForCausalLM.from_pretrained("base", device_map="auto", max_memory={"cpu": "1GB"})
model.hf_device_map = {"model.layers.0": 0, "model.layers.1": 1}
accelerator = Accelerator(cpu=True)
model = accelerator.prepare(model)
