# /// case
# run = "torchrun --nproc-per-node 2 train.py"
# form = "log"
# truth = "A 2x2 device mesh is asked for with two processes."
# expect = ["dist-device-mesh-size-mismatch"]
# evidence = "Mesh should not be bigger than default world size"
# ///
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

dist.init_process_group("gloo")
mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
