# /// case
# run = "python report.py"
# name = "report.py"
# form = "log"
# truth = "A bug in the user's own report after a training that was fine: two lists of other length."
# expect = ["NONE"]
# evidence = "ValueError: zip\\(\\) argument 2 is shorter"
# ///
import torch

losses = []
model = torch.nn.Linear(4, 1)
for step in range(50):
    loss = model(torch.randn(8, 4)).square().mean()
    losses.append(loss.item())
print(f"training finished, final loss {losses[-1]:.4f}")
for step, value in zip(range(0, 50), losses[::2], strict=True):
    pass
