# /// case
# run = "python train.py"
# form = "traceback"
# truth = "The checkpointed block draws its branch with Python's random, so that the recomputation takes another way than the forward."
# expect = ["numerics-checkpoint-recompute-mismatch"]
# also_ok = ["fsdp-recompute-metadata-mismatch"]
# evidence = "torch.utils.checkpoint: "
# ///
import torch
from torch.utils.checkpoint import checkpoint

first = [True]
small, big = torch.nn.Linear(16, 16), torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.Linear(32, 16))


def block(x):
    branch = small if first[0] else big
    first[0] = not first[0]
    return branch(x).relu()


x = torch.randn(4, 16, requires_grad=True)
checkpoint(block, x, use_reentrant=False).sum().backward()
