# /// case
# env = "ds-0.16.9"
# run = "torchrun --nproc-per-node 2 finetune.py"
# name = "finetune.py"
# form = "log"
# truth = "A plain load_state_dict into a model built under zero.Init: every parameter has the shape [0]."
# expect = ["deepspeed-zero3-load-into-partitioned-model"]
# evidence = "the shape in current model is torch.Size\\(\\[0\\]\\)"
# ///
import deepspeed
import torch

deepspeed.init_distributed("gloo")


def build():
    return torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Tanh(), torch.nn.Linear(32, 4))


weights = build().state_dict()
config = {"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 3}, "bf16": {"enabled": True}}
with deepspeed.zero.Init(config_dict_or_path=config):
    model = build()
model.load_state_dict(weights)
