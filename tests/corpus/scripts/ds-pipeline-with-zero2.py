# /// case
# env = "ds-0.14.4"
# run = "torchrun --nproc-per-node 2 train.py"
# form = "log"
# truth = "The pipeline engine is used with ZeRO stage 2."
# expect = ["deepspeed-pipeline-zero2-incompatible"]
# evidence = "ZeRO-2 and ZeRO-3 are incompatible with pipeline parallelism"
# ///
import deepspeed
import torch
from deepspeed.pipe import PipelineModule

deepspeed.init_distributed("gloo")
model = PipelineModule([torch.nn.Linear(8, 8) for _ in range(4)], num_stages=2, loss_fn=torch.nn.MSELoss())
config = {"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 2}, "bf16": {"enabled": True}}
engine, *_ = deepspeed.initialize(model=model, config=config, optimizer=torch.optim.AdamW(model.parameters(), 1e-3))
