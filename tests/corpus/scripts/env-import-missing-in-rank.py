# /// case
# run = "torchrun --nproc-per-node 2 train.py"
# form = "log"
# truth = "The package wandb is not installed in the environment of the launcher."
# expect = ["env-python-package-missing"]
# evidence = "ModuleNotFoundError: No module named 'wandb'"
# ///
import torch
import torch.distributed as dist
import wandb

dist.init_process_group("gloo")
wandb.init(project="x", mode="offline")
