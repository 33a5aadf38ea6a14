# /// case
# env = "ds-0.16.9"
# run = "torchrun --nproc-per-node 2 train.py"
# form = "log"
# truth = "A pipeline of three stages is built with two processes."
# expect = ["deepspeed-pipeline-stages-divide"]
# evidence = "RuntimeError: num_stages"
# ///
import deepspeed
import torch
from deepspeed.pipe import PipelineModule

deepspeed.init_distributed("gloo")
layers = [torch.nn.Linear(8, 8) for _ in range(6)]
model = PipelineModule(layers, num_stages=3, loss_fn=torch.nn.MSELoss())
