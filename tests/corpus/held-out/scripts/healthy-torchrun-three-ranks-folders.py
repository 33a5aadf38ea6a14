# /// case
# run = "torchrun --nproc-per-node 3 --log-dir logs --redirects 3 --tee 3 train.py; echo \"exit code $?\""
# form = "multirank"
# keep = ["console.log", "logs/*/attempt_*/*/*.log"]
# truth = "Healthy three-rank run in per-rank folders, with a caught time-out, a slow rank and NaN in one metric; exit 0."
# expect = ["NONE"]
# evidence = "exit code 0"
# ///
import time
import traceback

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank = dist.get_rank()
model = DDP(torch.nn.Linear(16, 16))
for step in range(80):
    if rank == 1 and step == 40:
        time.sleep(4)
        print("WARNING rank 1: storage read took 4.0 s (threshold 1.0 s)", flush=True)
    try:
        if rank == 2 and step == 50:
            raise TimeoutError("read of shard-0007 timed out after 30 s")
    except TimeoutError:
        traceback.print_exc()
        print("rank 2: using replica of shard-0007", flush=True)
    loss = model(torch.randn(4, 16)).square().mean()
    loss.backward()
    if step % 20 == 0:
        print(f"rank {rank} step {step} loss {loss.item():.4f} val_auc nan", flush=True)
dist.barrier()
print(f"rank {rank}: training finished", flush=True)
dist.destroy_process_group()
