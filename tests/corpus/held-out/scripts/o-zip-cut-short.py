# /// case
# env = "old"
# run = "python test.py"
# name = "test.py"
# form = "traceback"
# truth = "The copied checkpoint is cut short: the zip directory at its end is missing."
# expect = ["checkpoint-corrupt-zip-archive"]
# evidence = "Invalid argument|PytorchStreamReader failed"
# difficulty = "hard"
# ///
import os

import torch

torch.save(torch.nn.Linear(64, 64).state_dict(), "model_best.pth.tar")
os.truncate("model_best.pth.tar", 9000)
checkpoint = torch.load("model_best.pth.tar", map_location="cpu")
