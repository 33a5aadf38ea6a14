# /// case
# env = "ds-0.14.4"
# run = "python train.py"
# form = "traceback"
# truth = "set_z3_leaf_modules is called with a class that the model does not contain."
# expect = ["deepspeed-zero3-leaf-class-not-found"]
# evidence = "^ValueError: No modules of type"
# ///
import torch
from deepspeed.utils import set_z3_leaf_modules


class SparseMoeBlock(torch.nn.Module):
    pass


set_z3_leaf_modules(torch.nn.Sequential(torch.nn.Linear(4, 4)), [SparseMoeBlock])
