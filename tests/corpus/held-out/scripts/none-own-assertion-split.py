# /// case
# run = "python train.py"
# form = "log"
# truth = "An assertion of the user about his own data split fails after two epochs of good training."
# expect = ["NONE"]
# evidence = "AssertionError: 3 patients in both splits"
# ///
import torch

model = torch.nn.Linear(8, 2)
optimizer = torch.optim.AdamW(model.parameters())
for epoch in range(2):
    for step in range(30):
        loss = torch.nn.functional.cross_entropy(model(torch.randn(16, 8)), torch.randint(0, 2, (16,)))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 10 == 0:
            print(f"epoch {epoch} step {step:3d} loss {loss.item():.4f} lr 1.0e-03")
train, test = set(range(0, 80)), set(range(77, 100))
assert not train & test, f"{len(train & test)} patients in both splits"
