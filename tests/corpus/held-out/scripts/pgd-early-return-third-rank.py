# /// case
# run = "torchrun --nproc-per-node 3 --log-dir logs --redirects 3 --tee 3 train.py"
# form = "multirank"
# truth = "Rank 2 got an empty shard, prints so and returns from main() with exit code 0; the other two fail in their next all-reduce and get the blame."
# expect = ["dist-rank-exits-early-exit-code-0"]
# initiating_rank = 2
# evidence = "no files for this rank"
# keep = ["console.log", "logs/*/attempt_*/*/*.log"]
# difficulty = "hard"
# ///
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

FILES = [f"shard_{i:05d}.npy" for i in range(8)]


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    mine = FILES[rank * 4:(rank + 1) * 4]
    model = DDP(nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 1)))
    if not mine:
        print(f"[rank {rank}] no files for this rank, nothing to do", flush=True)
        return
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    for step in range(50):
        loss = model(torch.randn(16, 32)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 10 == 0:
            print(f"rank {rank}/{world} step {step} loss {loss.item():.4f}", flush=True)


main()
