# /// case
# run = "python train.py"
# form = "log"
# truth = "Each rank builds its vocabulary from its own shard, rank 3 gets one word more: DDP finds different parameter shapes."
# expect = ["ddp-params-differ-across-ranks"]
# initiating_rank = 3
# also_ok = ["dist-rank-local-exception-kills-job"]
# evidence = "appears not to match sizes|params in rank|size"
# difficulty = "hard"
# ///
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel as DDP

SHARDS = ["a b c d", "b c d a", "d a b c", "a b c d e"]


def worker(rank, world):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29507")
    dist.init_process_group("gloo", rank=rank, world_size=world)
    words = sorted(set(SHARDS[rank].split()))
    print(f"rank {rank}: {len(words)} words", flush=True)
    model = DDP(torch.nn.Embedding(len(words), 16))
    model(torch.zeros(2, dtype=torch.long)).sum().backward()


if __name__ == "__main__":
    mp.spawn(worker, (4,), nprocs=4)
