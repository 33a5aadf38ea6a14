# /// case
# run = "mkdir out; mount -t tmpfs -o size=3m tmpfs out; python train.py"
# form = "log"
# truth = "The disk of the output folder (3 MB) is full in the middle of torch.save of the second checkpoint."
# expect = ["checkpoint-disk-full-mid-save"]
# evidence = "unexpected pos|file write failed|No space left"
# ///
import torch

model = torch.nn.Linear(700, 700)
for epoch in range(5):
    loss = model(torch.randn(8, 700)).square().mean()
    print(f"epoch {epoch} loss {loss.item():.4f}", flush=True)
    torch.save({"model": model.state_dict(), "epoch": epoch}, f"out/epoch{epoch}.pt")
