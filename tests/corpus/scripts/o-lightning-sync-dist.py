# /// case
# env = "old"
# run = "python fit.py"
# name = "fit.py"
# form = "log"
# truth = "val_loss is logged at epoch level on two ranks without sync_dist=True; Lightning warns, the run ends."
# expect = ["lightning-sync-dist-missing"]
# also_ok = ["NONE"]
# evidence = "sync_dist=True"
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


if __name__ == "__main__":
    data = DataLoader(TensorDataset(torch.randn(64, 8)), 8)
    L.Trainer(max_epochs=1, devices=2, accelerator="cpu", strategy="ddp", logger=False, enable_checkpointing=False,
              enable_progress_bar=False).fit(Net(), data, data)
