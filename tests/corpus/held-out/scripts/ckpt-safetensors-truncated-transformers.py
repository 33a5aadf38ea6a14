# /// case
# run = "python serve.py"
# name = "serve.py"
# form = "traceback"
# cut = "traceback"
# truth = "model.safetensors was copied only in part; its header promises more bytes than there are."
# expect = ["checkpoint-safetensors-header-error"]
# evidence = "SafetensorError"
# ///
import os

from transformers import GPT2Config, GPT2LMHeadModel

GPT2LMHeadModel(GPT2Config(n_layer=2, n_embd=32, n_head=2, vocab_size=100)).save_pretrained("out")
os.truncate("out/model.safetensors", os.path.getsize("out/model.safetensors") // 2)
GPT2LMHeadModel.from_pretrained("out")
