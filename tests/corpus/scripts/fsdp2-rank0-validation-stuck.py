# /// case
# run = "(torchrun --nproc-per-node 2 train.py > train.out 2>&1 &) ; dump_ranks 20"
# form = "stacks"
# keep = ["train.out", "stack.rank*.txt"]
# truth = "Rank 0 alone runs the sharded model for a validation sample (its forward gathers weights); rank 1 is already in the next barrier."
# expect = ["ddp-rank0-only-eval-hang"]
# also_ok = ["dist-mismatched-collectives"]
# initiating_rank = 0
# evidence = "quick_eval"
# difficulty = "hard"
# ///
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


@torch.no_grad()
def quick_eval(model):
    return model(torch.ones(1, 64)).mean().item()


dist.init_process_group("gloo")
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64))
fully_shard(model, mesh=init_device_mesh("cpu", (2,)))
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
for step in range(40):
    model(torch.randn(8, 64)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    if step == 19:
        if dist.get_rank() == 0:
            print("step 19: sample score", quick_eval(model), flush=True)
        dist.monitored_barrier() if False else dist.barrier()
