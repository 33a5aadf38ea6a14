# /// case
# run = "python train.py; echo \"exit=$?\""
# form = "log"
# truth = "Healthy mixed-precision run: a few overflow steps are skipped at the start, one NaN batch is dropped on purpose, then the loss falls; exit 0."
# expect = ["NONE"]
# also_ok = ["numerics-fp16-overflow-skip"]
# evidence = "exit=0"
# ///
import logging
import math

import torch

logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
log = logging.getLogger("train")
model = torch.nn.Linear(16, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.05)
scale, good = 2.0**16, 0
for step in range(120):
    x = torch.randn(64, 16)
    if step == 57:
        x[3] = float("nan")
    loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
    if not math.isfinite(loss.item()):
        log.warning("step %d: loss is nan, batch dropped (1 so far)", step)
        continue
    (loss * scale).backward()
    if step < 3:
        log.warning("OVERFLOW! Skipping step %d. Attempted loss scale: %d, reducing to %d", step, scale, scale / 2)
        scale /= 2
        optimizer.zero_grad()
        continue
    for p in model.parameters():
        p.grad /= scale
    optimizer.step()
    optimizer.zero_grad()
    if step % 10 == 0:
        log.info("step %d loss %.4f scale %d error_rate 0.00", step, loss.item(), scale)
log.info("training complete, loss %.5f", loss.item())
