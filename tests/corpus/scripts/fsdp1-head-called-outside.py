# /// case
# run = "torchrun --nproc-per-node 2 train.py"
# form = "log"
# truth = "The loss calls a layer of the FSDP1 model directly: outside of FSDP's forward its weight is a flat shard."
# expect = ["fsdp-submodule-called-directly"]
# evidence = "RuntimeError"
# difficulty = "hard"
# ///
import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(16, 32)
        self.head = torch.nn.Linear(32, 10)

    def forward(self, x):
        return self.body(x).relu()


dist.init_process_group("gloo")
model = FSDP(Model(), device_id=torch.device("cpu"), use_orig_params=True)
hidden = model(torch.randn(4, 16))
logits = model.module.head(hidden)
logits.mean().backward()
