# /// case
# run = "python main.py"
# name = "main.py"
# form = "traceback"
# truth = "The glob pattern matches no file (wrong extension), the dataset is empty and RandomSampler refuses it."
# expect = ["dataloader-empty-dataset-num-samples-zero"]
# evidence = "num_samples should be a positive integer"
# ///
from pathlib import Path

import torch
from torch.utils.data import DataLoader, Dataset


class Folder(Dataset):
    def __init__(self, root):
        self.files = sorted(Path(root).glob("**/*.jpeg"))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        return torch.load(self.files[i])


data = Folder("data/imagenet100/train")
print(f"found {len(data)} images")
loader = DataLoader(data, batch_size=64, shuffle=True, num_workers=4, drop_last=True)
