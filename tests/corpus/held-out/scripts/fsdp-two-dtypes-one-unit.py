# /// case
# run = "torchrun --nproc-per-node 2 train.py"
# form = "log"
# truth = "One FSDP1 unit holds float32 norms and bfloat16 weights."
# expect = ["fsdp-uniform-dtype"]
# evidence = "Must flatten tensors with uniform dtype"
# ///
import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

dist.init_process_group("gloo")
block = torch.nn.Sequential(torch.nn.Linear(16, 16).bfloat16(), torch.nn.LayerNorm(16))
model = FSDP(block, device_id=torch.device("cpu"))
