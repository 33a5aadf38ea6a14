# mypy: disable-error-code="import-not-found, no-untyped-call, no-untyped-def, attr-defined, misc"
"""Rank 0 alone enters a barrier before it saves, while the others go on to the next gradient all-reduce."""

import datetime

import torch
import torch.distributed as dist
from torch import nn


def save_checkpoint(model, step, rank):
    if rank == 0:
        print(f"saving checkpoint at step {step}", flush=True)
        dist.barrier()
        torch.save(model.module.state_dict(), f"{step}.pt")


def main():
    dist.init_process_group("gloo", timeout=datetime.timedelta(hours=2))
    rank = dist.get_rank()
    model = nn.parallel.DistributedDataParallel(nn.Linear(64, 64))
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(1, 100):
        loss = model(torch.randn(4, 64)).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 10 == 0:
            print(f"rank {rank} step {step} loss {loss.item():.4f}", flush=True)
        if step % 30 == 0:
            save_checkpoint(model, step, rank)


if __name__ == "__main__":
    main()
