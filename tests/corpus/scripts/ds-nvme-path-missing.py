# /// case
# env = "ds-0.18.4"
# run = "torchrun --nproc-per-node 1 train.py"
# form = "log"
# truth = "Parameters are to be offloaded to NVMe, the config names no nvme_path and libaio is not there."
# expect = ["deepspeed-nvme-offload-config", "deepspeed-async-io-unavailable"]
# evidence = "AssertionError: .nvme_path. in DeepSpeed Config"
# difficulty = "hard"
# ///
import deepspeed
import torch

deepspeed.init_distributed("gloo")
config = {"train_micro_batch_size_per_gpu": 4, "bf16": {"enabled": True},
          "zero_optimization": {"stage": 3, "offload_param": {"device": "nvme"}}}
with deepspeed.zero.Init(config_dict_or_path=config):
    model = torch.nn.Linear(64, 64)
engine, *_ = deepspeed.initialize(model=model, config=config, optimizer=torch.optim.AdamW(model.parameters(), 1e-3))
