# /// case
# run = "SLURM_JOB_NAME=train SLURM_JOB_ID=4711 SLURM_NTASKS=4 SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0 SLURM_JOB_NUM_NODES=1 SLURM_NODELIST=node17 python train.py"
# form = "log"
# truth = "The SLURM job has --ntasks=4, the Trainer devices=2."
# expect = ["lightning-slurm-mismatch"]
# evidence = "ntasks"
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

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


data = DataLoader(TensorDataset(torch.randn(64, 8)), 16)
L.Trainer(max_epochs=1, devices=2, accelerator="cpu", strategy="ddp", logger=False).fit(Net(), data)
