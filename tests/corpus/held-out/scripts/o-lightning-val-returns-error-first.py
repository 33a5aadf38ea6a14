# /// case
# env = "old"
# run = "python fit.py"
# name = "fit.py"
# form = "log"
# truth = "The validation step fails in Lightning's sanity check, before any training (a missing key of the batch)."
# expect = ["lightning-sanity-check-fails"]
# evidence = "^KeyError: 'target'"
# ///
import lightning as L
import torch
from torch.utils.data import DataLoader


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(8, 1)

    def training_step(self, batch, _):
        return self.net(batch["x"]).square().mean()

    def validation_step(self, batch, _):
        self.log("val_loss", (self.net(batch["x"]) - batch["target"]).square().mean())

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


rows = [{"x": torch.randn(8), "y": torch.randn(1)} for _ in range(64)]
L.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False).fit(Net(), DataLoader(rows, 8), DataLoader(rows, 8))
