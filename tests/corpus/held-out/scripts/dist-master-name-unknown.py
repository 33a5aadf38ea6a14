# /// case
# run = "for r in 0 1; do MASTER_ADDR=trainer-0.trainer.ml.svc MASTER_PORT=29500 RANK=$r WORLD_SIZE=2 python train.py > rank$r.log 2>&1 & done; wait"
# form = "multirank"
# keep = ["rank*.log"]
# truth = "The name in MASTER_ADDR cannot be resolved on these nodes."
# expect = ["dist-hostname-not-resolvable"]
# evidence = "Name or service not known|Temporary failure in name resolution|getaddrinfo|gai error"
# ///
import datetime

import torch.distributed as dist

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=40))
