# /// case
# run = "timeout 100 torchrun --nproc-per-node 3 --log-dir logs --redirects 3 train.py"
# keep = ["logs/*/attempt_*/*/*.log"]
# form = "stacks"
# truth = "Rank 2's shard has fewer batches; it has left the loop and waits in the barrier before saving, the other two wait in the gradient reduction (stacks by faulthandler)."
# expect = ["data-uneven-batches-hang"]
# initiating_rank = 2
# evidence = "epoch done, waiting to save"
# difficulty = "hard"
# ///
import faulthandler

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

faulthandler.dump_traceback_later(60)
dist.init_process_group("gloo")
rank = dist.get_rank()
batches = torch.arange([40, 40, 37][rank])
model = DDP(torch.nn.Linear(16, 16))
for number in batches:
    model(torch.randn(2, 16)).mean().backward()
    if number % 10 == 0:
        print(f"rank {rank} batch {int(number)}/{len(batches)}", flush=True)
print(f"rank {rank}: epoch done, waiting to save", flush=True)
dist.barrier()
