# /// case
# run = "torchrun --nproc-per-node 2 --max-restarts 2 train.py; echo \"exit code $?\""
# form = "log"
# truth = "Rank 0 fails once with a transient error (drill), the agent restarts both workers (twice with torch 2.13, whose second attempt falls while gloo reconnects), they resume from the checkpoint and finish: no open failure."
# expect = ["NONE"]
# evidence = "exit code 0"
# difficulty = "hard"
# ///
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank = dist.get_rank()
start = torch.load("ckpt.pt")["step"] if os.path.exists("ckpt.pt") else 0
print(f"rank {rank}: starting at step {start}", flush=True)
model = DDP(torch.nn.Linear(8, 8))
for step in range(start, 60):
    model(torch.randn(2, 8)).mean().backward()
    if step == 29:
        if rank == 0:
            torch.save({"step": 30}, "ckpt.pt")
        dist.barrier()
    if step == 35 and rank == 0 and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        raise OSError(5, "Input/output error")
dist.barrier()
print(f"rank {rank}: finished", flush=True)
dist.destroy_process_group()
