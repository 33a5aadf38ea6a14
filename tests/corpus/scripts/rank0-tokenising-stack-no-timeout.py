# /// case
# run = "(torchrun --nproc-per-node 3 train.py > train.out 2>&1 &) ; sleep 60; dump_ranks 0"
# form = "stacks"
# keep = ["train.out", "stack.rank*.txt"]
# truth = "Ranks 1 and 2 wait in the barrier while rank 0 packs the dataset alone; slow work, no deadlock."
# expect = ["dist-rank0-long-work-timeout"]
# also_ok = ["STALLED"]
# initiating_rank = 0
# evidence = "pack_examples"
# difficulty = "hard"
# ///
import time

import torch
import torch.distributed as dist


def pack_examples(rows):
    packed = []
    for row in rows:
        packed.append(row * 2)
        time.sleep(0.01)
    return packed


dist.init_process_group("gloo")
if dist.get_rank() == 0:
    pack_examples(range(10**6))
dist.barrier()
