# /// case
# run = "python train.py"
# form = "log"
# truth = "training_step has no return statement: every batch is skipped and nothing is trained."
# expect = ["lightning-training-step-returned-none"]
# evidence = "`training_step` returned `None`"
# ///
import lightning as L
import torch
from torch.utils.data import DataLoader, TensorDataset


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(8, 1)

    def training_step(self, batch, _):
        loss = self.net(batch[0]).square().mean()
        self.log("loss", loss)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


data = DataLoader(TensorDataset(torch.randn(64, 8)), 16)
L.Trainer(max_epochs=3, accelerator="cpu", logger=False, enable_progress_bar=False).fit(Net(), data)
