# /// case
# run = "python train.py"
# form = "traceback"
# truth = "Layers stand in a plain Python list, so that model.parameters() is empty."
# expect = ["numerics-optimizer-empty-parameter-list"]
# evidence = "^ValueError: optimizer got an empty parameter list"
# ///
import torch


class Stack(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [torch.nn.Linear(8, 8) for _ in range(4)]


optimizer = torch.optim.AdamW(Stack().parameters(), lr=1e-3)
