# /// case
# run = "torchrun --nproc-per-node 2 train.py"
# form = "log"
# truth = "The placement function shards dimension 1, whose 15 columns two ranks cannot share evenly."
# expect = ["fsdp2-uneven-shard"]
# evidence = "FSDP does not support uneven sharding on dim 1"
# ///
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Shard

dist.init_process_group("gloo")
model = torch.nn.Linear(15, 8, bias=False)
fully_shard(model, mesh=init_device_mesh("cpu", (2,)), shard_placement_fn=lambda parameter: Shard(1))
