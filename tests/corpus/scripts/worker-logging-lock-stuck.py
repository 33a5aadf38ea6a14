# /// case
# run = "(python train.py > train.out 2>&1 &) ; dump_ranks 15"
# form = "stacks"
# keep = ["train.out", "stack.*.txt"]
# truth = "A thread of the parent holds a lock (a cache's) while the DataLoader forks its workers; the copies wait for ever."
# expect = ["dataloader-fork-deadlock"]
# evidence = "__getitem__"
# also_ok = ["STALLED"]
# difficulty = "hard"
# ///
import threading
import time

import torch
from torch.utils.data import DataLoader, Dataset

lock = threading.RLock()


def refresh():
    while True:
        with lock:
            time.sleep(0.5)


class Tiles(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        with lock:
            return torch.zeros(4)


threading.Thread(target=refresh, daemon=True).start()
time.sleep(0.1)
for epoch in range(3):
    for batch in DataLoader(Tiles(), batch_size=8, num_workers=2):
        pass
    print("epoch", epoch, flush=True)
