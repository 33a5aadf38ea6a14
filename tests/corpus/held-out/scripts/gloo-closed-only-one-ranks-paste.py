# /// case
# run = "torchrun --nproc-per-node 2 train.py"
# form = "traceback"
# cut = "grep:^\\[rank0\\]"
# truth = "Only rank 0's paste: another rank is gone (it was killed); what happened there is not in the input."
# expect = ["gloo-connection-closed-by-peer"]
# evidence = "Connection closed by peer|Connection reset by peer"
# ///
import os
import signal

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
model = DDP(torch.nn.Linear(8, 8))
for step in range(50):
    if step == 30 and dist.get_rank() == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    model(torch.randn(2, 8)).mean().backward()
