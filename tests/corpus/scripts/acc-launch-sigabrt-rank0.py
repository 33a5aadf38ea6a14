# /// case
# run = "torchrun --nproc-per-node 3 --log-dir logs --redirects 3 --tee 3 train.py"
# form = "multirank"
# keep = ["console.log", "logs/*/attempt_*/*/*.log"]
# truth = "Rank 0 aborts in native code (SIGABRT after a failed check of a C library)."
# expect = ["torchrun-exit-minus-6-abort"]
# initiating_rank = 0
# evidence = "SIGABRT"
# ///
import ctypes

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

libc = ctypes.CDLL("libc.so.6")
dist.init_process_group("gloo")
rank = dist.get_rank()
model = DDP(torch.nn.Linear(8, 8))
for step in range(40):
    if rank == 0 and step == 22:
        print("tokenizer_native.cc:88: check failed: offset < size", flush=True)
        libc.abort()
    model(torch.randn(2, 8)).mean().backward()
    if step % 10 == 0:
        print(f"rank {rank} step {step}", flush=True)
