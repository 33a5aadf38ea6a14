# /// case
# run = "python train.py"
# form = "log"
# truth = "Rank 1 of two fails in its own training step (ValueError in the augmentation); Lightning ends the other."
# expect = ["dist-rank-local-exception-kills-job"]
# initiating_rank = 1
# evidence = "ValueError: crop 96 larger than image 64"
# ///
import lightning as L
import torch
from torch.utils.data import DataLoader, TensorDataset


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(8, 1)

    def training_step(self, batch, number):
        if self.global_rank == 1 and number == 5:
            raise ValueError("crop 96 larger than image 64")
        return self.net(batch[0]).square().mean()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


if __name__ == "__main__":
    data = DataLoader(TensorDataset(torch.randn(256, 8)), 8)
    L.Trainer(max_epochs=1, devices=2, accelerator="cpu", strategy="ddp", logger=False, enable_progress_bar=False).fit(Net(), data)
