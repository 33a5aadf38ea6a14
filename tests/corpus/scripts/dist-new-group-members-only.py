# /// case
# run = "torchrun --nproc-per-node 3 train.py"
# form = "log"
# truth = "new_group([0, 1]) is called only by its members; the next new_group, called by all three, gets another name on rank 2 and never comes together."
# expect = ["dist-new-group-not-on-all-ranks"]
# also_ok = ["dist-store-based-barrier-timeout"]
# evidence = "DistStoreError: wait timeout|Timed out"
# difficulty = "hard"
# ///
import datetime

import torch
import torch.distributed as dist

limit = datetime.timedelta(seconds=40)
dist.init_process_group("gloo", timeout=limit)
rank = dist.get_rank()
if rank in (0, 1):
    print(f"rank {rank}: building tensor-parallel group [0, 1]", flush=True)
    group = dist.new_group([0, 1], timeout=limit)
    value = torch.ones(1)
    dist.all_reduce(value, group=group)
print(f"rank {rank}: building data-parallel group of all", flush=True)
everyone = dist.new_group([0, 1, 2], timeout=limit)
dist.all_reduce(torch.ones(1), group=everyone)
print(f"rank {rank}: done", flush=True)
