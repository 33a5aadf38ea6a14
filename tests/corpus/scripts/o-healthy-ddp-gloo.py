# /// case
# env = "old"
# run = "torchrun --nproc_per_node 2 --rdzv-backend c10d --rdzv-endpoint localhost:0 train.py; echo \"exit $?\""
# form = "log"
# truth = "Healthy DDP training of torch 2.4 with checkpointing, a caught reader error and a deprecation warning; exit 0."
# expect = ["NONE"]
# evidence = "exit 0"
# ///
import traceback
import warnings

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank = dist.get_rank()
model = DDP(torch.nn.Linear(16, 16))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10, verbose=True) if rank == 0 else None
for step in range(60):
    try:
        if step == 21:
            raise OSError(116, "Stale file handle")
    except OSError:
        traceback.print_exc()
        warnings.warn("read failed, retrying (1/5)")
    loss = model(torch.randn(4, 16)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        torch.save(model.state_dict(), f"step{step}.rank{rank}.pt")
        print(f"[{rank}] {step} {loss.item():.4f}", flush=True)
dist.destroy_process_group()
