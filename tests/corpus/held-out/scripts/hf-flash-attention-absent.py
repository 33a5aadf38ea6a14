# /// case
# run = "python train.py"
# form = "traceback"
# cut = "traceback"
# truth = "attn_implementation='flash_attention_2' without the flash_attn package."
# expect = ["env-flash-attn-not-installed"]
# evidence = "^ImportError: FlashAttention"
# ///
import torch
from transformers import LlamaConfig, LlamaForCausalLM

LlamaForCausalLM(LlamaConfig(vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64)).save_pretrained("base")
model = LlamaForCausalLM.from_pretrained("base", dtype=torch.bfloat16, attn_implementation="flash_attention_2")
