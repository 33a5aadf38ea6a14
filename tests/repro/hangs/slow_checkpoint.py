# mypy: disable-error-code="import-not-found, no-untyped-call, no-untyped-def, attr-defined, misc"
"""Rank 0 writes a checkpoint to very slow storage, the others wait in the barrier behind it: slow, no deadlock."""

import datetime
import time

import torch
import torch.distributed as dist
from torch import nn


class SlowFile:
    def __init__(self, path):
        self.file = open(path, "wb")

    def write(self, data):
        time.sleep(20)
        return self.file.write(data)

    def flush(self):
        self.file.flush()


def save_checkpoint(model, step):
    torch.save(model.state_dict(), SlowFile(f"step{step}.pt"))


def main():
    dist.init_process_group("gloo", timeout=datetime.timedelta(hours=1))
    rank = dist.get_rank()
    model = nn.parallel.DistributedDataParallel(nn.Sequential(*[nn.Linear(256, 256) for _ in range(8)]))
    for step in range(1, 21):
        model(torch.randn(4, 256)).mean().backward()
        if step % 20 == 0:
            print(f"rank {rank} reached checkpoint at step {step}", flush=True)
            if rank == 0:
                save_checkpoint(model, step)
            dist.barrier()


if __name__ == "__main__":
    main()
