# /// case
# env = "ds-0.14.4"
# run = "torchrun --nproc-per-node 1 train.py"
# form = "traceback"
# cut = "first-traceback"
# truth = "Optimizer offload with an optimizer object of torch, not DeepSpeedCPUAdam."
# expect = ["deepspeed-offload-client-optimizer"]
# evidence = "ZeRO-Offload with a client provided optimizer"
# ///
import deepspeed
import torch

deepspeed.init_distributed("gloo")
model = torch.nn.Linear(16, 16)
config = {"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}}
engine, *_ = deepspeed.initialize(model=model, config=config, optimizer=torch.optim.Adam(model.parameters(), 1e-3))
