# /// case
# run = "python train.py"
# form = "log"
# truth = "ModelCheckpoint monitors 'val_acc', the module logs 'val_accuracy'."
# expect = ["lightning-modelcheckpoint-monitor-missing"]
# evidence = "could not find the monitored key"
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
        self.log("val_accuracy", 0.5)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


data = DataLoader(TensorDataset(torch.randn(64, 8)), 16)
saver = L.pytorch.callbacks.ModelCheckpoint("ckpt", monitor="val_acc", mode="max")
L.Trainer(max_epochs=2, accelerator="cpu", logger=False, callbacks=[saver], enable_progress_bar=False).fit(Net(), data, data)
