# /// case
# run = "python generate.py"
# name = "generate.py"
# form = "log"
# truth = "A decoder-only model generates from a right-padded batch; the library warns, nothing fails, the output is degraded."
# expect = ["hf-right-padding-generation"]
# also_ok = ["NONE"]
# evidence = "right-padding was detected"
# ///
import torch
from transformers import GPT2Config, GPT2LMHeadModel

model = GPT2LMHeadModel(GPT2Config(n_layer=2, n_embd=32, n_head=2, vocab_size=100, pad_token_id=0, eos_token_id=99, bos_token_id=98))
prompts = torch.tensor([[5, 6, 7, 8, 9], [5, 6, 0, 0, 0]])
out = model.generate(prompts, attention_mask=(prompts != 0).long(), max_new_tokens=8, do_sample=False)
print(out.tolist())
print("generated 2 samples")
