# /// case
# env = "ds-0.14.4"
# run = "torchrun --nproc-per-node 1 train_moe.py"
# name = "train_moe.py"
# form = "log"
# truth = "DeepSpeed's own MoE layer is used with ZeRO stage 3, which it does not support."
# expect = ["deepspeed-moe-native-zero3"]
# evidence = "AssertionError: MoE not supported with Stage 3"
# ///
import deepspeed
import torch
from deepspeed.moe.layer import MoE

deepspeed.init_distributed("gloo")
model = torch.nn.Sequential(torch.nn.Linear(16, 16), MoE(16, torch.nn.Linear(16, 16), num_experts=2, k=1))
config = {"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 3}, "bf16": {"enabled": True}}
engine, *_ = deepspeed.initialize(model=model, config=config, optimizer=torch.optim.AdamW(model.parameters(), 1e-3))
