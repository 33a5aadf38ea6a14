# /// case
# env = "ds-0.18.4"
# run = "torchrun --nproc-per-node 2 train.py"
# form = "log"
# truth = "Gradient accumulation with engine.no_sync() under ZeRO stage 2."
# expect = ["deepspeed-no-sync-zero23"]
# evidence = "no_sync context manager is incompatible with gradient partitioning"
# ///
import deepspeed
import torch

deepspeed.init_distributed("gloo")
model = torch.nn.Linear(16, 16)
config = {"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2, "zero_optimization": {"stage": 2}}
engine, *_ = deepspeed.initialize(model=model, config=config, optimizer=torch.optim.Adam(model.parameters(), 1e-3))
for step in range(4):
    if step % 2 == 0:
        with engine.no_sync():
            engine.backward(engine(torch.randn(4, 16)).mean())
    else:
        engine.backward(engine(torch.randn(4, 16)).mean())
    engine.step()
