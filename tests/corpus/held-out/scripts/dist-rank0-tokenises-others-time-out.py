# /// case
# run = "torchrun --nproc-per-node 3 --log-dir logs --redirects 3 --tee 3 pretrain.py"
# name = "pretrain.py"
# form = "multirank"
# keep = ["console.log", "logs/*/attempt_*/*/*.log"]
# truth = "Rank 0 tokenises the corpus for longer than the time-out of the group (30 s); ranks 1 and 2 wait in the barrier and fail."
# expect = ["dist-rank0-long-work-timeout"]
# initiating_rank = 0
# evidence = "tokenising"
# difficulty = "hard"
# ///
import datetime
import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=30))
rank = dist.get_rank()
if rank == 0:
    for part in range(1, 61):
        time.sleep(1)
        if part % 4 == 0:
            print(f"tokenising part {part}/60", flush=True)
dist.barrier()
print("starting training", flush=True)
