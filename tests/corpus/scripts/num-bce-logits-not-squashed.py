# /// case
# run = "python train.py"
# form = "traceback"
# truth = "binary_cross_entropy gets raw logits in place of probabilities."
# expect = ["cuda-device-assert-bce-range"]
# evidence = "all elements of input should be between 0 and 1"
# ///
import torch

net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
loss = torch.nn.BCELoss()(net(torch.randn(64, 8) * 9), torch.ones(64, 1))
