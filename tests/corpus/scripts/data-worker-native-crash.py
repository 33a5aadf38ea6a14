# /// case
# run = "python train.py"
# form = "log"
# truth = "A native decoder called in the worker dereferences a null pointer; the worker dies of SIGSEGV."
# expect = ["dataloader-worker-segfault"]
# evidence = "is killed by signal: Segmentation fault"
# ///
import ctypes

import torch
from torch.utils.data import DataLoader, Dataset


class Video(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        if i == 41:
            ctypes.string_at(0)  # stands for a decoder that crashes on a damaged clip
        return torch.randn(3, 4, 16, 16)


for step, clip in enumerate(DataLoader(Video(), batch_size=4, num_workers=2)):
    print("step", step, clip.shape, flush=True)
