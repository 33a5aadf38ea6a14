# /// case
# env = "old"
# run = "python train.py"
# form = "log"
# truth = "Images of different sizes cannot be stacked by the default collate function."
# expect = ["dataloader-collate-unequal-sizes"]
# also_ok = ["dataloader-worker-exception"]
# evidence = "stack expects each tensor to be equal size"
# ///
import torch
from torch.utils.data import DataLoader, Dataset


class Photos(Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, i):
        return torch.rand(3, 64, 64 + (i == 13) * 21), i


for epoch in range(2):
    for x, y in DataLoader(Photos(), batch_size=4, num_workers=2):
        pass
    print("epoch", epoch)
