# mypy: disable-error-code="import-not-found, no-untyped-call, no-untyped-def, attr-defined, misc"
"""Rank 3 leaves out the tensor-parallel group's all-reduce and goes on to that of all ranks."""

import datetime

import torch
import torch.distributed as dist


def tensor_parallel_step(rank, group):
    if rank != 3:
        dist.all_reduce(torch.ones(4), group=group)


def main():
    dist.init_process_group("gloo", timeout=datetime.timedelta(hours=1))
    rank = dist.get_rank()
    groups = [dist.new_group([0, 1]), dist.new_group([2, 3])]
    print(f"rank {rank} of {dist.get_world_size()} begins", flush=True)
    tensor_parallel_step(rank, groups[rank // 2])
    dist.all_reduce(torch.ones(4))
    print(f"rank {rank} done", flush=True)


if __name__ == "__main__":
    main()
