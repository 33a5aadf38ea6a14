# /// case
# run = "for r in 0 1; do MASTER_ADDR=127.0.0.1 MASTER_PORT=29511 RANK=$r WORLD_SIZE=4 python train.py 2>&1 | sed \"s/^/$r: /\" & done; wait"
# form = "log"
# truth = "WORLD_SIZE is 4 but only ranks 0 and 1 were started; the store waits for the other two in vain."
# expect = ["dist-tcpstore-waiting-for-clients-timeout"]
# also_ok = ["dist-world-size-mismatch"]
# evidence = "clients joined|Timed out after"
# ///
import datetime

import torch.distributed as dist

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=45))
