# mypy: disable-error-code="import-not-found, no-untyped-call, no-untyped-def, attr-defined, misc"
"""A thread holds a lock when the DataLoader forks its workers: they wait for the copied lock, the parent for data."""

import threading
import time

import torch
from torch.utils.data import DataLoader, Dataset

LOCK = threading.Lock()


def refresh():
    while True:
        with LOCK:
            time.sleep(0.5)


class Cached(Dataset):
    def __len__(self):
        return 256

    def __getitem__(self, index):
        with LOCK:
            return torch.full((4,), float(index))


def main():
    threading.Thread(target=refresh, daemon=True).start()
    time.sleep(0.7)
    print("epoch 0 begins", flush=True)
    for step, _ in enumerate(DataLoader(Cached(), batch_size=8, num_workers=2, multiprocessing_context="fork")):
        print(f"step {step}", flush=True)


if __name__ == "__main__":
    main()
