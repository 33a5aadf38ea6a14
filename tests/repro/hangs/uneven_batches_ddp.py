# mypy: disable-error-code="import-not-found, no-untyped-call, no-untyped-def, attr-defined, misc"
"""DistributedDataParallel over shards of unequal size: one waits in the gradient all-reduce, the other has left."""

import datetime

import torch
import torch.distributed as dist
from torch import nn


def shard(rank):
    for _ in range(50 - 3 * rank):
        yield torch.randn(8, 64)


def train_one_epoch(model, optimizer, rank):
    for step, batch in enumerate(shard(rank)):
        loss = model(batch).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 10 == 0:
            print(f"rank {rank} step {step} loss {loss.item():.4f}", flush=True)


def main():
    dist.init_process_group("gloo", timeout=datetime.timedelta(hours=1))
    rank = dist.get_rank()
    model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64)))
    train_one_epoch(model, torch.optim.AdamW(model.parameters()), rank)
    dist.barrier()


if __name__ == "__main__":
    main()
