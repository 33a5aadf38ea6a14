# /// case
# run = "torchrun --nproc-per-node 2 train.py"
# form = "log"
# truth = "Both ranks write ckpt.tmp and rename it to ckpt.pt: the slower one finds its temporary file gone."
# expect = ["checkpoint-all-ranks-write-same-file"]
# also_ok = ["dist-rank-local-exception-kills-job"]
# evidence = "No such file or directory: 'ckpt.tmp' -> 'ckpt.pt'"
# difficulty = "hard"
# ///
import os
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
model = DDP(torch.nn.Linear(64, 64))
for step in range(1, 31):
    model(torch.randn(4, 64)).mean().backward()
    if step % 10 == 0:
        print(f"rank {dist.get_rank()}: saving step {step}", flush=True)
        torch.save(model.state_dict(), "ckpt.tmp")
        dist.barrier()
        os.replace("ckpt.tmp", "ckpt.pt")
