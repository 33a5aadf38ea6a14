# /// case
# env = "ds-0.18.4"
# run = "torchrun --nproc-per-node 3 train.py"
# form = "log"
# truth = "The elasticity section allows 1, 2, 4 or 8 GPUs; three were started."
# expect = ["deepspeed-elastic-world-size-invalid"]
# evidence = "ElasticityIncompatibleWorldSize: World size"
# ///
import deepspeed
import torch

deepspeed.init_distributed("gloo")
config = {"elasticity": {"enabled": True, "max_train_batch_size": 64, "micro_batch_sizes": [8, 16], "min_gpus": 1, "max_gpus": 8, "version": 0.1},
          "optimizer": {"type": "Adam", "params": {"torch_adam": True}}}
engine, *_ = deepspeed.initialize(model=torch.nn.Linear(8, 8), config=config)
