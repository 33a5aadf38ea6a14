# /// case
# env = "ds-0.14.4"
# run = "torchrun --nproc-per-node 2 train.py && echo '--- resume on one rank' && torchrun --nproc-per-node 1 train.py --resume"
# form = "log"
# truth = "A ZeRO-2 checkpoint of two ranks is resumed on one."
# expect = ["deepspeed-checkpoint-dp-world-size-changed"]
# evidence = "DP world size of 2 but the current world size is 1"
# ///
import sys

import deepspeed
import torch

deepspeed.init_distributed("gloo")
model = torch.nn.Linear(8, 8)
config = {"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 2}}
engine, *_ = deepspeed.initialize(model=model, config=config, optimizer=torch.optim.AdamW(model.parameters(), 1e-3))
if "--resume" in sys.argv:
    engine.load_checkpoint("ckpt")
for step in range(3):
    loss = engine(torch.randn(4, 8)).square().mean()
    engine.backward(loss)
    engine.step()
engine.save_checkpoint("ckpt", tag="global_step3")
