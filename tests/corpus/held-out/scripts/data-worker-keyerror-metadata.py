# /// case
# run = "python train_vision.py --workers 2"
# name = "train_vision.py"
# form = "log"
# truth = "The dataset looks up a sample's metadata by file name and one is missing: KeyError inside a DataLoader worker."
# expect = ["dataloader-worker-exception"]
# evidence = "Caught KeyError in DataLoader worker process"
# ///
import torch
from torch.utils.data import DataLoader, Dataset


class Scans(Dataset):
    def __init__(self):
        self.names = [f"scan_{i:04d}" for i in range(400)]
        self.spacing = {name: 0.7 for name in self.names if name != "scan_0217"}

    def __len__(self):
        return len(self.names)

    def __getitem__(self, i):
        name = self.names[i]
        return torch.randn(1, 16, 16) * self.spacing[name], i % 3


model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(256, 3))
optimizer = torch.optim.AdamW(model.parameters())
for epoch in range(2):
    for step, (x, y) in enumerate(DataLoader(Scans(), 16, num_workers=2)):
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 5 == 0:
            print(f"epoch {epoch} step {step} loss {loss.item():.4f}", flush=True)
