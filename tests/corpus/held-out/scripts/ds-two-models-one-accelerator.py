# /// case
# env = "ds-0.18.4"
# run = "accelerate launch --use_deepspeed --zero_stage 2 --num_processes 1 distill.py"
# name = "distill.py"
# form = "log"
# truth = "Teacher and student are both prepared with one Accelerator (one DeepSpeed plugin)."
# expect = ["deepspeed-accelerate-multiple-models"]
# evidence = "same `Accelerator\\(\\)` instance with multiple models|multiple models"
# ///
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

accelerator = Accelerator()
student, teacher = torch.nn.Linear(16, 4), torch.nn.Linear(16, 4)
optimizer = torch.optim.AdamW(student.parameters(), 1e-4)
loader = DataLoader(TensorDataset(torch.randn(64, 16)), batch_size=4)
student, teacher, optimizer, loader = accelerator.prepare(student, teacher, optimizer, loader)
