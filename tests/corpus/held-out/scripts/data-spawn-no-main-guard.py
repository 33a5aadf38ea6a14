# /// case
# run = "python train.py"
# form = "log"
# truth = "Workers are started with spawn from a script without 'if __name__ == \"__main__\"', so that each worker runs the script again."
# expect = ["dataloader-spawn-missing-main-guard"]
# evidence = "An attempt has been made to start a new process before"
# ///
import torch
from torch.utils.data import DataLoader, TensorDataset

print("building model")
model = torch.nn.Linear(8, 1)
data = TensorDataset(torch.randn(256, 8), torch.randn(256, 1))
loader = DataLoader(data, batch_size=32, num_workers=2, multiprocessing_context="spawn")
for x, y in loader:
    loss = (model(x) - y).square().mean()
    loss.backward()
print("done")
