# /// case
# run = "python train.py"
# form = "log"
# truth = "val_check_interval=1000, an epoch has four batches."
# expect = ["lightning-val-check-interval-too-large"]
# evidence = "must be less than or equal to the number of the training batches"
# ///
import lightning as L
import torch
from torch.utils.data import DataLoader, TensorDataset


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(8, 1)

    def training_step(self, batch, _):
        return self.net(batch[0]).square().mean()

    def validation_step(self, batch, _):
        self.log("val_loss", self.net(batch[0]).square().mean())

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


data = DataLoader(TensorDataset(torch.randn(64, 8)), 16)
L.Trainer(max_steps=100, val_check_interval=1000, accelerator="cpu", logger=False).fit(Net(), data, data)
