# /// case
# run = "python resume.py"
# name = "resume.py"
# form = "traceback"
# truth = "The checkpoint holds argparse.Namespace, which torch.load refuses with its default weights_only=True."
# expect = ["checkpoint-weights-only-load-failed"]
# evidence = "Weights only load failed"
# ///
import argparse

import torch

torch.save({"args": argparse.Namespace(lr=1e-3, depth=4), "model": {}}, "run.pth")
checkpoint = torch.load("run.pth", map_location="cpu")
