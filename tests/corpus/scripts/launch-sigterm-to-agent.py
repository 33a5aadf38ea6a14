# /// case
# run = "torchrun --nproc-per-node 2 train.py & sleep 60; kill -TERM $!; wait $!; echo \"exit $?\""
# form = "log"
# truth = "Somebody (here kill) sends SIGTERM to the torchrun agent; the workers were healthy."
# expect = ["torchrun-agent-got-sigterm"]
# evidence = "got signal: 15"
# ///
import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
for step in range(1000):
    value = torch.ones(1)
    dist.all_reduce(value)
    if dist.get_rank() == 0 and step % 10 == 0:
        print(f"step {step} ok", flush=True)
    time.sleep(0.2)
