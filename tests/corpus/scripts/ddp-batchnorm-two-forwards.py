# /// case
# run = "torchrun --nproc-per-node 2 simclr.py"
# name = "simclr.py"
# form = "log"
# truth = "Two forwards through a DDP model with BatchNorm before one backward: DDP's buffer broadcast overwrites the running statistics in place."
# expect = ["ddp-inplace-buffer-modified"]
# also_ok = ["numerics-inplace-modification"]
# evidence = "has been modified by an inplace operation"
# ///
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
net = DDP(torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.BatchNorm1d(16), torch.nn.ReLU(), torch.nn.Linear(16, 4)))
for step in range(5):
    first, second = net(torch.randn(32, 8)), net(torch.randn(32, 8))
    loss = (first - second).square().mean()
    loss.backward()
    print(f"step {step} loss {loss.item():.4f}", flush=True)
