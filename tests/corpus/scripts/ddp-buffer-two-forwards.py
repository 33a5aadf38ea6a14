# /// case
# env = "old"
# run = "torchrun --nproc-per-node 2 dino.py"
# name = "dino.py"
# form = "log"
# truth = "Two forwards through a DDP model with a buffer (temperature) before one backward: DDP's buffer broadcast at the second forward overwrites in place what the first one's backward needs."
# expect = ["ddp-inplace-buffer-modified"]
# also_ok = ["numerics-inplace-modification"]
# evidence = "has been modified by an inplace operation"
# ///
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


class Head(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(8, 16)
        self.register_buffer("temperature", torch.full((16,), 0.1))

    def forward(self, x):
        return self.fc(x) * self.temperature


dist.init_process_group("gloo")
net = DDP(Head())
for step in range(5):
    first, second = net(torch.randn(32, 8)), net(torch.randn(32, 8))
    loss = (first - second).square().mean()
    loss.backward()
    print(f"step {step} loss {loss.item():.4f}", flush=True)
