# /// case
# run = "python train_head.py"
# name = "train_head.py"
# form = "traceback"
# truth = "The whole model is frozen (the head by mistake as well), so that the loss has no graph."
# expect = ["numerics-element0-no-grad"]
# evidence = "element 0 of tensors does not require grad"
# ///
import torch

model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
model.requires_grad_(False)
loss = torch.nn.functional.cross_entropy(model(torch.randn(4, 8)), torch.tensor([0, 1, 1, 0]))
loss.backward()
