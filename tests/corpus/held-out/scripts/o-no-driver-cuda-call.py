# /// case
# env = "old"
# run = "python train.py"
# form = "traceback"
# truth = "A CUDA build of torch on a node without an NVIDIA driver."
# expect = ["cuda-no-gpu-visible"]
# also_ok = ["env-cuda-driver-too-old"]
# evidence = "Found no NVIDIA driver on your system"
# environ = {CUDA_VISIBLE_DEVICES = "UNSET"}
# ///
import torch

model = torch.nn.Linear(8, 8).to("cuda")
