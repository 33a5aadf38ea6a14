# /// case
# run = "torchrun --nproc-per-node 4 --log-dir logs --redirects 3 --tee 3 train.py"
# form = "multirank"
# keep = ["console.log", "logs/*/attempt_*/*/*.log"]
# truth = "Rank 2 fails with a ZeroDivisionError in its own metric, and spends 6 s in a finally clause (uploads its log); the other three wait in the all-reduce and fail with the broken connections."
# expect = ["dist-rank-local-exception-kills-job"]
# initiating_rank = 2
# evidence = "ZeroDivisionError: "
# difficulty = "hard"
# ///
import os
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def train(model, rank):
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for step in range(60):
        tokens = 0 if (rank == 2 and step == 33) else 512
        loss = model(torch.randn(4, 24)).square().mean()
        per_token = loss.item() / tokens
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 10 == 0:
            print(f"rank {rank} step {step} loss/token {per_token:.6f}", flush=True)


dist.init_process_group("gloo")
rank = dist.get_rank()
model = DDP(torch.nn.Linear(24, 24))
try:
    train(model, rank)
except ZeroDivisionError:
    dist.destroy_process_group()
    raise
finally:
    if rank == 2:
        time.sleep(6)  # uploads the log
