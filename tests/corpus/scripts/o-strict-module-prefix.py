# /// case
# env = "old"
# run = "python infer.py"
# name = "infer.py"
# form = "traceback"
# truth = "Weights saved from a DataParallel model (keys begin with module.) are loaded into the bare model."
# expect = ["checkpoint-state-dict-key-prefix"]
# evidence = "Unexpected key.s. in state_dict: \"module"
# ///
import torch

net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Conv2d(8, 1, 3))
torch.save(torch.nn.DataParallel(net).state_dict(), "net.pth")
net.load_state_dict(torch.load("net.pth", weights_only=True))
