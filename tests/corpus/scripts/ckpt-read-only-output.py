# /// case
# run = "mkdir out; mount -t tmpfs -o ro tmpfs out; python train.py"
# form = "log"
# truth = "The output folder lies on a file system that is mounted read-only."
# expect = ["checkpoint-output-dir-not-writable"]
# evidence = "Read-only file system"
# ///
import os

import torch

model = torch.nn.Linear(16, 16)
for step in range(1, 101):
    model(torch.randn(4, 16)).sum().backward()
    if step % 25 == 0:
        print(f"step {step}: loss {torch.rand(1).item():.4f}", flush=True)
    if step == 100:
        os.makedirs("out/step_100")
        torch.save(model.state_dict(), "out/step_100/model.pt")
