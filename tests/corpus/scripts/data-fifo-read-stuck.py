# /// case
# run = """
# mkfifo shard_1.bin; (head -c 4096 /dev/zero; sleep 1000) > shard_1.bin &
# (torchrun --nproc-per-node 2 train.py > train.out 2>&1 &) ; dump_ranks 25"""
# form = "stacks"
# keep = ["train.out", "stack.rank*.txt"]
# truth = "Rank 1 blocks in the read of its shard (a mount that never answers, here a pipe); rank 0 waits in the gradient reduction."
# expect = ["data-rank-stuck-in-storage-read"]
# initiating_rank = 1
# evidence = "read_block \\("
# difficulty = "hard"
# ///
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def read_block(handle, size=512):
    return torch.frombuffer(bytearray(handle.read(size)), dtype=torch.uint8).float().view(-1, 16)


dist.init_process_group("gloo")
rank = dist.get_rank()
path = f"shard_{rank}.bin"
if rank == 0:
    with open(path, "wb") as f:
        f.write(os.urandom(512 * 1000))
model = DDP(torch.nn.Linear(16, 4))
optimizer = torch.optim.SGD(model.parameters(), 1e-3)
with open(path, "rb") as shard:
    for step in range(500):
        loss = model(read_block(shard)).mean()
        loss.backward()
        optimizer.step()
        if step % 2 == 0:
            print(f"[{rank}] step {step} loss {loss.item():.3f}", flush=True)
