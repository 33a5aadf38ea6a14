# /// case
# env = "old"
# run = "python train.py & sleep 25; python train.py 2>&1 | tee second.log; kill %1"
# keep = ["second.log"]
# form = "log"
# truth = "A second training is started on the machine with the same port (29501) as the one that still runs."
# expect = ["dist-tcpstore-address-in-use"]
# evidence = "EADDRINUSE|ddress already in use"
# ///
import os
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def worker(rank, world):
    os.environ.update(MASTER_ADDR="localhost", MASTER_PORT="29501")
    dist.init_process_group("gloo", rank=rank, world_size=world)
    for step in range(100):
        value = torch.ones(1)
        dist.all_reduce(value)
        time.sleep(1)


if __name__ == "__main__":
    mp.spawn(worker, (2,), nprocs=2)
