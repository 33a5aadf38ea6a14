# /// case
# run = "torchrun --nproc-per-node 2 train.py"
# form = "log"
# truth = "All parameters of the wrapped module are frozen, so DDP has nothing to reduce."
# expect = ["ddp-no-grad-params"]
# evidence = "have any parameters? that require"
# ///
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
encoder = torch.nn.TransformerEncoderLayer(32, 4)
for parameter in encoder.parameters():
    parameter.requires_grad = False
encoder = DDP(encoder)
head = DDP(torch.nn.Linear(32, 4))
