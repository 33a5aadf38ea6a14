# /// case
# env = "ds-0.16.9"
# run = "accelerate launch --use_deepspeed --zero_stage 2 --num_processes 1 train.py"
# form = "log"
# truth = "accelerator.prepare() gets only the model and 'auto' as micro batch size, so that no batch size can be found."
# expect = ["deepspeed-accelerate-batch-size-none"]
# also_ok = ["accelerate-launch-wrapper-error"]
# evidence = "requires you to pass at least one of training or evaluation dataloaders"
# ///
import torch
from accelerate import Accelerator

accelerator = Accelerator()
reward = torch.nn.Linear(16, 1)
reward = accelerator.prepare(reward)
print("prepared")
