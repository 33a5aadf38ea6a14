# /// case
# run = "python train.py"
# form = "traceback"
# truth = "A typing error in the user's own class (self.encdoer)."
# expect = ["NONE"]
# evidence = "'Segmenter' object has no attribute 'encdoer'"
# ///
import torch


class Segmenter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = torch.nn.Conv2d(3, 8, 3)

    def forward(self, x):
        return self.encdoer(x)


Segmenter()(torch.randn(1, 3, 8, 8))
