# /// case
# env = "new-tv"
# run = "python train.py"
# form = "traceback"
# truth = "torchvision was built for another torch build: its operators do not register."
# expect = ["env-torchvision-mismatch"]
# evidence = "operator torchvision::nms does not exist"
# ///
import torch
import torchvision
