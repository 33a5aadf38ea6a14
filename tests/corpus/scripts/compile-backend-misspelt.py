# /// case
# run = "python train.py"
# form = "traceback"
# truth = "The name of the torch.compile backend is misspelt."
# expect = ["compile-invalid-backend"]
# evidence = "Invalid backend: 'inductr'"
# ///
import torch

model = torch.compile(torch.nn.Linear(4, 4), backend="inductr")
model(torch.randn(2, 4))
