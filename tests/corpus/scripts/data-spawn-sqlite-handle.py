# /// case
# run = "python train.py"
# form = "traceback"
# cut = "first-traceback"
# truth = "The dataset holds an open sqlite connection, which cannot be pickled for workers started with forkserver."
# expect = ["dataloader-pickle-on-spawn"]
# evidence = "cannot pickle 'sqlite3.Connection' object"
# ///
import sqlite3

import torch
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self):
        self.db = sqlite3.connect(":memory:")

    def __len__(self):
        return 100

    def __getitem__(self, i):
        return torch.tensor(self.db.execute("select ?", (i,)).fetchone())


if __name__ == "__main__":
    for batch in DataLoader(Rows(), batch_size=10, num_workers=2, multiprocessing_context="forkserver"):
        print(batch.shape)
