# /// case
# env = "ds-0.18.4"
# run = "accelerate launch --use_deepspeed --deepspeed_config_file ds.json --num_processes 1 train.py"
# form = "log"
# truth = "The DeepSpeed config has an optimizer section and the script builds its own optimizer as well."
# expect = ["deepspeed-accelerate-optimizer-in-both"]
# evidence = "You cannot specify an optimizer in the config file and in the code at the same time"
# ///
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

accelerator = Accelerator()
model = torch.nn.Linear(16, 1)
optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
loader = DataLoader(TensorDataset(torch.randn(64, 16)), batch_size=4)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
# --- file: ds.json
{"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 1,
 "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "torch_adam": true}},
 "zero_optimization": {"stage": 2}}
