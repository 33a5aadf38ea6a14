# /// case
# run = "python train.py"
# form = "traceback"
# truth = "A helper that casts every tensor of the checkpoint to half precision also cast the saved RNG state, which has to be a ByteTensor."
# expect = ["checkpoint-rng-state-not-bytetensor"]
# evidence = "RNG state must be a torch.ByteTensor"
# ///
import torch

state = {"model": torch.nn.Linear(2, 2).state_dict(), "rng": torch.get_rng_state()}
torch.save(state, "ckpt.pt")


def to_half(item):
    return {k: to_half(v) for k, v in item.items()} if isinstance(item, dict) else item.half()


state = to_half(torch.load("ckpt.pt"))
torch.set_rng_state(state["rng"])
