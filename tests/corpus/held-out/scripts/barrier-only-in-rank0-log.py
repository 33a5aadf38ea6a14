# /// case
# run = "(python train.py > train.out 2>&1 &) ; dump_ranks 25"
# form = "stacks"
# keep = ["train.out", "stack.*.txt"]
# truth = "With mp.spawn, rank 0 alone enters a barrier inside 'if rank == 0' before it writes a sample; the other ranks wait in the next all-reduce."
# expect = ["dist-barrier-in-rank0-branch-hang"]
# also_ok = ["dist-mismatched-collectives"]
# evidence = "barrier"
# difficulty = "hard"
# ///
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel as DDP


def write_samples(step):
    dist.barrier()
    print(f"samples of step {step} written", flush=True)


def worker(rank, world):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29507", RANK=str(rank))
    dist.init_process_group("gloo", rank=rank, world_size=world)
    model = DDP(torch.nn.Linear(512, 512))
    for step in range(30):
        model(torch.randn(4, 512)).mean().backward()
        if step == 10 and rank == 0:
            write_samples(step)
    print("end", rank, flush=True)


if __name__ == "__main__":
    mp.spawn(worker, (3,), nprocs=3)
