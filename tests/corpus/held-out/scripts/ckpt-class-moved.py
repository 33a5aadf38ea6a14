# /// case
# run = "python evaluate.py"
# name = "evaluate.py"
# form = "traceback"
# cut = "traceback"
# truth = "A whole model was pickled by a script in which the class stood in __main__; the loading script has no such class."
# expect = ["checkpoint-pickled-class-module-missing"]
# evidence = "Can't get attribute 'TinyNet' on <module '__main__'"
# ///
import subprocess
import sys

import torch

subprocess.run([sys.executable, "train_first.py"], check=True)
model = torch.load("model.pt", weights_only=False)
# --- file: train_first.py
import torch


class TinyNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(2, 2)


torch.save(TinyNet(), "model.pt")
