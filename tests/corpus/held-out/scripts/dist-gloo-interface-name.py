# /// case
# run = "GLOO_SOCKET_IFNAME=ens5 torchrun --nproc-per-node 2 train.py"
# form = "log"
# truth = "GLOO_SOCKET_IFNAME names an interface that this node does not have."
# expect = ["gloo-interface-not-found"]
# evidence = "Unable to find address for: ens5"
# ///
import torch.distributed as dist

dist.init_process_group("gloo")
dist.barrier()
