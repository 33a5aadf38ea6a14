# /// case
# env = "ds-0.18.4"
# run = "torchrun --nproc-per-node 1 train.py"
# form = "log"
# truth = "A config made for the HF Trainer ('auto' values) is given to deepspeed.initialize directly, which wants numbers."
# expect = ["deepspeed-config-validation-error"]
# evidence = "input_value='auto'"
# ///
import deepspeed
import torch

deepspeed.init_distributed("gloo")
config = {"train_micro_batch_size_per_gpu": 4,
          "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "torch_adam": True}},
          "zero_optimization": {"stage": 3, "reduce_bucket_size": "auto", "stage3_prefetch_bucket_size": "auto",
                                "stage3_param_persistence_threshold": "auto"}}
engine, *_ = deepspeed.initialize(model=torch.nn.Linear(8, 8), config=config)
