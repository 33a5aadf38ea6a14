# /// case
# env = "ds-0.16.9"
# run = "torchrun --nproc-per-node 2 train.py"
# form = "log"
# truth = "train_batch_size 32 is not micro batch 4 x accumulation 1 x 2 ranks."
# expect = ["deepspeed-batch-size-arithmetic"]
# evidence = "train_batch_size is not equal to micro_batch_per_gpu"
# ///
import deepspeed
import torch

deepspeed.init_distributed("gloo")
model = torch.nn.Linear(8, 8)
config = {"train_batch_size": 32, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 1,
          "optimizer": {"type": "Adam", "params": {"lr": 1e-3, "torch_adam": True}}}
engine, *_ = deepspeed.initialize(model=model, config=config)
