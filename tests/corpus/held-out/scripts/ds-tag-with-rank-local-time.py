# /// case
# env = "ds-0.16.9"
# run = "torchrun --nproc-per-node 2 train.py"
# form = "log"
# truth = "Each rank makes its own checkpoint tag (with its pid); tag validation (Fail) finds them unequal."
# expect = ["deepspeed-checkpoint-tag-inconsistent"]
# evidence = "not consistent across all ranks"
# ///
import os

import deepspeed
import torch

deepspeed.init_distributed("gloo")
model = torch.nn.Linear(8, 8)
config = {"train_micro_batch_size_per_gpu": 4, "checkpoint": {"tag_validation": "Fail"}}
engine, *_ = deepspeed.initialize(model=model, config=config, optimizer=torch.optim.AdamW(model.parameters(), 1e-3))
loss = engine(torch.randn(4, 8)).square().mean()
engine.backward(loss)
engine.step()
engine.save_checkpoint("ckpt", tag=f"run_{os.getpid()}")
