# /// case
# run = "RANK=0 WORLD_SIZE=2 python train.py"
# form = "traceback"
# truth = "RANK and WORLD_SIZE are exported by hand, MASTER_ADDR is not."
# expect = ["dist-env-vars-missing"]
# evidence = "MASTER_ADDR expected, but not set"
# ///
import torch.distributed as dist

dist.init_process_group("gloo")
