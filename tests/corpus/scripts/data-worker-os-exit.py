# /// case
# run = "python train.py 2>&1 | tee train.log"
# form = "log"
# truth = "A library used in the worker calls exit(3) (license check) without any Python traceback: the worker exited unexpectedly."
# expect = ["dataloader-worker-segfault"]
# also_ok = ["dataloader-worker-killed"]
# evidence = "exited unexpectedly"
# ///
import os

import torch
from torch.utils.data import DataLoader, Dataset


class Audio(Dataset):
    def __len__(self):
        return 128

    def __getitem__(self, i):
        if i == 50:
            os._exit(3)
        return torch.randn(1, 160)


net = torch.nn.Conv1d(1, 4, 9)
for epoch in range(3):
    for step, wave in enumerate(DataLoader(Audio(), batch_size=8, num_workers=3)):
        net(wave).mean().backward()
        print(f"[epoch {epoch}] [{step}/16] ok", flush=True)
