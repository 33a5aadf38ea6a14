# /// case
# run = "torchrun --nproc-per-node 2 --log-dir logs --redirects 3 --tee 3 train.py"
# form = "multirank"
# keep = ["console.log", "logs/*/attempt_*/*/*.log"]
# truth = "Rank 1 gets a NaN loss and skips backward with 'continue' while rank 0 does not: from then on their collectives do not match; at the end rank 1 meets the metric's all-reduce with rank 0's gradients."
# expect = ["dist-mismatched-collectives"]
# also_ok = ["dist-swallowed-exception-desync", "numerics-nan-from-bad-batch", "data-uneven-batches-hang"]
# initiating_rank = 1
# evidence = "loss is nan, skipping"
# difficulty = "hard"
# ///
import math

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank = dist.get_rank()
model = DDP(torch.nn.Linear(128, 64))
optimizer = torch.optim.SGD(model.parameters(), 0.01)
for step in range(40):
    x = torch.randn(8, 128)
    if rank == 1 and step == 23:
        x[0, 0] = float("nan")
    loss = model(x).square().mean()
    if not math.isfinite(loss.item()):
        print(f"rank {rank} step {step}: loss is nan, skipping batch", flush=True)
        continue
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
total = torch.tensor([loss.item()])
dist.all_reduce(total)
print(f"rank {rank}: epoch loss {total.item() / 2:.4f}", flush=True)
