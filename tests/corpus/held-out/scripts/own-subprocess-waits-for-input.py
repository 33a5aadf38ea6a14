# /// case
# run = "(python train.py > train.out 2>&1 &) ; dump_ranks 15"
# form = "stacks"
# keep = ["train.out", "stack.*.txt"]
# truth = "A DataLoader worker waits in a socket read of the user's own feature service, which never answers; the main process waits for data."
# expect = ["STALLED", "data-rank-stuck-in-storage-read"]
# also_ok = ["dataloader-bound-slow", "NONE"]
# evidence = "__getitem__"
# difficulty = "hard"
# ///
import socket
import threading

import torch
from torch.utils.data import DataLoader, Dataset

server = socket.create_server(("127.0.0.1", 8600))


class Features(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        with socket.create_connection(("127.0.0.1", 8600)) as connection:
            connection.sendall(str(i).encode())
            return torch.tensor(list(connection.recv(16)))


for batch in DataLoader(Features(), batch_size=4, num_workers=1):
    print(batch.shape, flush=True)
