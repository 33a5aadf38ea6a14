# /// case
# run = "torchrun --nproc-per-node 2 --log-dir logs --redirects 3 --tee 3 train.py"
# form = "multirank"
# keep = ["console.log", "logs/*/attempt_*/*/*.log"]
# truth = "Rank 0 writes the checkpoint to slow storage for longer than the group's time-out (25 s); rank 1, which waits in the barrier, is the one that fails."
# expect = ["checkpoint-slow-storage-collective-timeout"]
# also_ok = ["dist-rank0-long-work-timeout"]
# initiating_rank = 0
# evidence = "saving checkpoint"
# difficulty = "hard"
# ///
import datetime
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


class SlowFile:
    """Stands for a network file system that takes a few kB a second."""

    def __init__(self, path):
        self.file = open(path, "wb")

    def write(self, data):
        time.sleep(3)
        return self.file.write(data)

    def flush(self):
        self.file.flush()


dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=25))
rank = dist.get_rank()
model = DDP(torch.nn.Sequential(*[torch.nn.Linear(32, 32) for _ in range(8)]))
for step in range(1, 41):
    model(torch.randn(4, 32)).mean().backward()
    if rank == 0 and step % 10 == 0:
        print(f"step {step}/200 lr 1.0e-04", flush=True)
    if step == 40:
        if rank == 0:
            print("saving checkpoint to /mnt/nfs/ckpt/step_40.pt", flush=True)
            started = time.time()
            torch.save(model.state_dict(), SlowFile("step_40.pt"))
            print(f"checkpoint written in {time.time() - started:.0f} s", flush=True)
        dist.barrier()
