# /// case
# run = "python train.py"
# form = "traceback"
# truth = "Class labels come as float32 (read from a CSV through numpy)."
# expect = ["numerics-loss-target-wrong-dtype"]
# evidence = "expected (scalar type Long|target dtype)"
# ///
import torch

labels = torch.tensor([0.0, 2.0, 1.0])
torch.nn.functional.cross_entropy(torch.randn(3, 4), labels.view(3))
