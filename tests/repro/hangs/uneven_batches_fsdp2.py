# mypy: disable-error-code="import-not-found, no-untyped-call, no-untyped-def, attr-defined, misc"
"""fully_shard over loaders of unequal length: one rank waits in the next forward's all-gather, the other has left."""

import datetime

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


def main():
    dist.init_process_group("gloo", timeout=datetime.timedelta(hours=1))
    rank = dist.get_rank()
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32))
    fully_shard(model, mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(30 - 4 * rank):
        model(torch.randn(4, 32)).pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    print(f"rank {rank} has no more batches", flush=True)
    dist.barrier()


if __name__ == "__main__":
    main()
