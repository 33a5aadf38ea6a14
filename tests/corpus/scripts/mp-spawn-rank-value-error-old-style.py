# /// case
# env = "old"
# run = "python -u train.py"
# form = "log"
# truth = "With mp.spawn on three processes, process 1 raises a ValueError in its data; mp.spawn reports it and ends the others."
# expect = ["dist-rank-local-exception-kills-job"]
# initiating_rank = 1
# evidence = "ValueError: invalid literal for int\\(\\)"
# ///
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel as DDP


def worker(rank, world):
    os.environ.update(MASTER_ADDR="localhost", MASTER_PORT="29577")
    dist.init_process_group("gloo", rank=rank, world_size=world)
    model = DDP(torch.nn.Linear(8, 2))
    labels = ["0", "1"] * 20
    if rank == 1:
        labels[17] = "n/a"
    for step, label in enumerate(labels):
        target = torch.tensor([int(label)])
        torch.nn.functional.cross_entropy(model(torch.randn(1, 8)), target).backward()
        if step % 10 == 0:
            print(f"=> rank {rank} step {step}", flush=True)


if __name__ == "__main__":
    mp.spawn(worker, args=(3,), nprocs=3, join=True)
