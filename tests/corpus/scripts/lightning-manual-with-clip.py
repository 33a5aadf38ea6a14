# /// case
# run = "python gan.py"
# name = "gan.py"
# form = "traceback"
# cut = "traceback"
# truth = "gradient_clip_val together with manual optimisation."
# expect = ["lightning-manual-opt-clip-or-fused-amp"]
# evidence = "Automatic gradient clipping is not supported for manual optimization"
# ///
import lightning as L
import torch
from torch.utils.data import DataLoader, TensorDataset


class Gan(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.net = torch.nn.Linear(8, 1)

    def training_step(self, batch, _):
        self.manual_backward(self.net(batch[0]).mean())

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


data = DataLoader(TensorDataset(torch.randn(64, 8)), 16)
L.Trainer(max_epochs=1, accelerator="cpu", gradient_clip_val=1.0, logger=False).fit(Gan(), data)
