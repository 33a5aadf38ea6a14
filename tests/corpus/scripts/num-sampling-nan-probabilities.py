# /// case
# run = "python rollout.py"
# name = "rollout.py"
# form = "traceback"
# truth = "The weights became NaN in training, so that the probabilities given to multinomial are NaN."
# expect = ["cuda-device-assert-multinomial-nan"]
# evidence = "probability tensor contains either `inf`, `nan` or element < 0"
# ///
import torch
from transformers import GPT2Config, GPT2LMHeadModel

policy = GPT2LMHeadModel(GPT2Config(n_layer=1, n_embd=16, n_head=2, vocab_size=50, eos_token_id=1, bos_token_id=0, pad_token_id=1))
with torch.no_grad():
    policy.transformer.h[0].mlp.c_fc.weight.fill_(float("nan"))
policy.generate(torch.randint(2, 50, (2, 6)), do_sample=True, max_new_tokens=4)
