# /// case
# run = "python train.py"
# form = "traceback"
# truth = "Labels run from 1 to 10 while the model has 10 classes (0 to 9)."
# expect = ["cuda-device-assert-label-range"]
# evidence = "Target 10 is out of bounds"
# ///
import torch

head = torch.nn.Linear(16, 10)
for step in range(20):
    x, y = torch.randn(64, 16), torch.arange(64) % 10 + 1
    loss = torch.nn.functional.cross_entropy(head(x), y)
    loss.backward()
