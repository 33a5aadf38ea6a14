# /// case
# run = "torchrun --nproc-per-node 2 train.py"
# form = "traceback"
# cut = "from:^torch.distributed.elastic.multiprocessing.errors.ChildFailedError"
# truth = "Only torchrun's summary was pasted; the worker's own error is not in it."
# expect = ["torchrun-childfailed-summary"]
# evidence = "ChildFailedError"
# ///
import sys

import torch.distributed as dist

dist.init_process_group("gloo")
sys.exit(1 if dist.get_rank() == 1 else 0)
