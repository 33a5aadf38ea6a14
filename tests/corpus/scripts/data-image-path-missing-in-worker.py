# /// case
# run = "python train.py"
# form = "log"
# truth = "The CSV names an image that is not on this machine (relative path, wrong working directory): FileNotFoundError inside the worker."
# expect = ["data-file-or-checkpoint-path-not-found", "dataloader-worker-exception"]
# evidence = "FileNotFoundError: .Errno 2. No such file or directory"
# ///
import torch
from torch.utils.data import DataLoader, Dataset


class Csv(Dataset):
    rows = [(f"images/{i:06d}.bin", i % 5) for i in range(100)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        path, label = self.rows[i]
        with open(path, "rb") as handle:
            return torch.frombuffer(bytearray(handle.read()), dtype=torch.uint8), label


for x, y in DataLoader(Csv(), batch_size=8, num_workers=2):
    print(x.shape, y)
