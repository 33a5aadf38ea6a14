# /// case
# run = "python train.py; echo \"exit $?\""
# form = "log"
# truth = "Healthy: Lightning warns about workers, the log interval, and a non-empty checkpoint folder; fit ends by max_epochs."
# expect = ["NONE"]
# evidence = "`Trainer.fit` stopped: `max_epochs=2` reached"
# ///
import os

import lightning as L
import torch
from torch.utils.data import DataLoader, TensorDataset


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 1))

    def training_step(self, batch, _):
        loss = self.net(batch[0]).square().mean()
        self.log("loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, _):
        self.log("val_loss", self.net(batch[0]).square().mean())

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


os.makedirs("ckpt", exist_ok=True)
open("ckpt/old.ckpt", "w").close()
data = DataLoader(TensorDataset(torch.randn(64, 8)), 16)
saver = L.pytorch.callbacks.ModelCheckpoint("ckpt", monitor="val_loss")
L.Trainer(max_epochs=2, accelerator="cpu", logger=False, callbacks=[saver], enable_progress_bar=False).fit(Net(), data, data)
print("best:", saver.best_model_path)
