# /// case
# run = "python train.py"
# form = "traceback"
# truth = "Started with python, without a launcher and init_process_group, but a collective is used."
# expect = ["dist-process-group-not-initialized"]
# evidence = "Default process group has not been initialized"
# ///
import torch
import torch.distributed as dist


def reduce_mean(value):
    dist.all_reduce(value)
    return value / dist.get_world_size()


for step in range(3):
    loss = torch.rand(1)
    print(step, reduce_mean(loss))
