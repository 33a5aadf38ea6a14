# /// case
# run = "torchrun --nproc-per-node 3 train.py"
# form = "log"
# truth = "new_group([0, 1]) is called only by its members; it has to be called by all ranks."
# expect = ["dist-new-group-not-on-all-ranks"]
# also_ok = ["dist-store-based-barrier-timeout"]
# evidence = "new_group|Timed out"
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
print(f"rank {rank}: waiting for all", flush=True)
dist.barrier()
print(f"rank {rank}: done", flush=True)
