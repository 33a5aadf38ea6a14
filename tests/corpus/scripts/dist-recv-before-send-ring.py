# /// case
# run = "(torchrun --nproc-per-node 3 ring.py > train.out 2>&1 &) ; dump_ranks 20"
# name = "ring.py"
# form = "stacks"
# keep = ["train.out", "stack.rank*.txt"]
# truth = "Every rank of the ring first receives from its left neighbour, nobody sends: deadlock."
# expect = ["dist-p2p-order-deadlock"]
# evidence = "recv"
# difficulty = "hard"
# ///
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
block = torch.randn(128, 64)
for hop in range(world):
    incoming = torch.empty_like(block)
    dist.recv(incoming, (rank - 1) % world)
    dist.send(block, (rank + 1) % world)
    block = incoming
    print(f"rank {rank} hop {hop} done", flush=True)
