# /// case
# run = "torchrun --nproc-per-node 2 train.py"
# form = "log"
# truth = "A sharded inner block is run once on its own before the root model's first forward."
# expect = ["fsdp2-root-forward-first"]
# evidence = "RuntimeError: FSDP state has already been lazily"
# ///
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

dist.init_process_group("gloo")
mesh = init_device_mesh("cpu", (2,))
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 8))
for layer in model:
    fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
print("warm-up of the first block", model[0](torch.randn(2, 8)).shape, flush=True)
model(torch.randn(2, 8)).sum().backward()
