# /// case
# run = "torchrun --nproc-per-node 3 --log-dir logs --redirects 3 --tee 3 train.py"
# form = "multirank"
# keep = ["console.log", "logs/*/attempt_*/*/*.log"]
# truth = "Rank 2 gets SIGKILL while it builds its in-memory cache (as by the OOM killer)."
# expect = ["host-oom-killed-exit-minus-9"]
# initiating_rank = 2
# evidence = "SIGKILL"
# ///
import os
import signal

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank = dist.get_rank()
model = DDP(torch.nn.Linear(16, 16))
cache = []
for step in range(60):
    cache.append(torch.randn(1000))
    if rank == 2 and step == 40:
        os.kill(os.getpid(), signal.SIGKILL)
    model(torch.randn(2, 16)).mean().backward()
    if step % 10 == 0:
        print(f"[{rank}] step {step}, {len(cache)} samples cached", flush=True)
