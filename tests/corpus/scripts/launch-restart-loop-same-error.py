# /// case
# run = "torchrun --nproc-per-node 2 --max-restarts 2 train.py"
# form = "log"
# truth = "Rank 1 fails in each attempt that comes to it with the same error (its shard is damaged); the agent restarts twice and gives up. With torch 2.13 the last attempt does not come so far: it ends while gloo reconnects."
# expect = ["dist-rank-local-exception-kills-job", "torchrun-elastic-restart-loop"]
# initiating_rank = 1
# also_ok = ["gloo-connect-full-mesh"]
# evidence = "zlib.error: Error -3"
# ///
import zlib

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
blob = zlib.compress(b"tokens" * 100) if rank == 0 else b"\x00garbage"
text = zlib.decompress(blob)
value = torch.ones(1)
dist.all_reduce(value)
print("attempt works on rank", rank)
