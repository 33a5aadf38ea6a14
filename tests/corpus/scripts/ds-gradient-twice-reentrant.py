# /// case
# env = "ds-0.16.9"
# run = "torchrun --nproc-per-node 2 train.py"
# form = "log"
# truth = "The same block is run twice under re-entrant checkpointing with ZeRO-2: its gradient is reduced twice."
# expect = ["deepspeed-gradient-computed-twice"]
# evidence = "Gradient computed twice for this partition"
# ///
import deepspeed
import torch
from torch.utils.checkpoint import checkpoint

deepspeed.init_distributed("gloo")


class Twice(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.block = torch.nn.Linear(16, 16)

    def forward(self, x):
        x = checkpoint(self.block, x, use_reentrant=True)
        return checkpoint(self.block, x, use_reentrant=True)


model = Twice()
config = {"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 2, "reduce_bucket_size": 64}}
engine, *_ = deepspeed.initialize(model=model, config=config, optimizer=torch.optim.AdamW(model.parameters(), 1e-3))
loss = engine(torch.randn(4, 16, requires_grad=True)).square().mean()
engine.backward(loss)
engine.step()
print("done")
