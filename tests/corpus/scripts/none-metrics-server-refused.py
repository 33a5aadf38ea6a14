# /// case
# run = "python train.py"
# form = "log"
# truth = "The user's own metrics service does not listen: ConnectionRefusedError of urllib, not of the training."
# expect = ["NONE"]
# evidence = "urllib.error.URLError: <urlopen error .Errno 111. Connection refused>"
# ///
import json
import urllib.request

import torch

model = torch.nn.Linear(4, 1)
for step in range(40):
    loss = model(torch.randn(8, 4)).square().mean()
    loss.backward()
    if step % 10 == 0:
        print(f"step {step} loss {loss.item():.3f}", flush=True)
    if step == 30:
        body = json.dumps({"step": step, "loss": loss.item()}).encode()
        urllib.request.urlopen("http://127.0.0.1:8093/metrics", data=body, timeout=5)
