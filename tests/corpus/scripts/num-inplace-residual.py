# /// case
# run = "python train.py"
# form = "traceback"
# truth = "x += y changes the output of a sigmoid in place, which its backward needs."
# expect = ["numerics-inplace-modification"]
# evidence = "has been modified by an inplace operation"
# ///
import torch

layer = torch.nn.Linear(8, 8)
x = torch.randn(4, 8)
gate = torch.sigmoid(layer(x))
gate += x
gate.mean().backward()
