# /// case
# run = "accelerate launch train.py; echo \"exit code: $?\""
# form = "log"
# truth = "Healthy: accelerate's default-value warnings, a missing-CUDA warning of autocast and two caught retries; training ends with exit code 0."
# expect = ["NONE"]
# evidence = "exit code: 0"
# ///
import logging
import warnings

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

logging.basicConfig(level=logging.WARNING)
log = logging.getLogger("fetch")
accelerator = Accelerator(cpu=True)
model = torch.nn.Linear(16, 2)
optimizer = torch.optim.AdamW(model.parameters())
loader = DataLoader(TensorDataset(torch.randn(256, 16), torch.randint(0, 2, (256,))), 32, pin_memory=True)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
warnings.warn("checkpoint folder not empty, old files will be overwritten")
for epoch in range(3):
    for step, (x, y) in enumerate(loader):
        try:
            if (epoch, step) in ((0, 3), (2, 1)):
                raise ConnectionResetError(104, "Connection reset by peer")
        except ConnectionResetError as error:
            log.error("upload of metrics failed (%s), will retry", error)
        with torch.autocast("cuda", enabled=True):
            loss = torch.nn.functional.cross_entropy(model(x), y)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
    accelerator.print(f"epoch {epoch}: loss {loss.item():.4f}")
print("training finished")
