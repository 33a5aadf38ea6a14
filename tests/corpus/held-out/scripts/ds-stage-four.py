# /// case
# env = "ds-0.18.4"
# run = "torchrun --nproc-per-node 1 train.py"
# form = "log"
# truth = "The config asks for ZeRO stage 4, which does not exist: validation of the config fails."
# expect = ["deepspeed-config-validation-error"]
# evidence = "ValidationError: 1 validation error|Input should be"
# ///
import deepspeed
import torch

deepspeed.init_distributed("gloo")
config = {"train_micro_batch_size_per_gpu": 4,
          "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "torch_adam": True}},
          "zero_optimization": {"stage": 4, "reduce_bucket_size": 5e8}}
engine, *_ = deepspeed.initialize(model=torch.nn.Linear(8, 8), config=config)
