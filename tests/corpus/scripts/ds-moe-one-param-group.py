# /// case
# env = "ds-0.18.4"
# run = "torchrun --nproc-per-node 1 train_moe.py"
# name = "train_moe.py"
# form = "log"
# truth = "The optimizer of a DeepSpeed-MoE model has one group; expert parameters have to stand in groups of their own."
# expect = ["deepspeed-moe-param-groups"]
# evidence = "moe layers, but None of the param groups are marked as MoE"
# ///
import deepspeed
import torch
from deepspeed.moe.layer import MoE

deepspeed.init_distributed("gloo")
model = torch.nn.Sequential(torch.nn.Linear(16, 16), MoE(16, torch.nn.Linear(16, 16), num_experts=2, k=1))
config = {"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 1}, "bf16": {"enabled": True}}
engine, *_ = deepspeed.initialize(model=model, config=config, optimizer=torch.optim.AdamW(model.parameters(), 1e-3))
