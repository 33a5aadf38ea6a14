# /// case
# run = "torchrun --nproc-per-node 2 train.py; echo \"exit $?\""
# form = "log"
# truth = "Healthy DDP run in which find_unused_parameters=True finds nothing unused (the warning costs time only)."
# expect = ["ddp-unused-warning-cost"]
# also_ok = ["NONE"]
# evidence = "find_unused_parameters=True was specified"
# ///
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
model = DDP(torch.nn.Linear(16, 16), find_unused_parameters=True)
for step in range(30):
    loss = model(torch.randn(4, 16)).square().mean()
    loss.backward()
    if step % 10 == 0 and dist.get_rank() == 0:
        print(f"step {step} loss {loss.item():.4f}", flush=True)
dist.destroy_process_group()
print("done")
