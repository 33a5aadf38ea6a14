# /// case
# run = "torchrun --nproc-per-node 2 train.py; echo \"exit $?\""
# form = "log"
# truth = "Healthy FSDP2 run with distributed checkpoints and a resume; warnings of torch, exit 0."
# expect = ["NONE"]
# evidence = "exit 0"
# ///
import logging

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

logging.basicConfig(level=logging.INFO)
dist.init_process_group("gloo")
model = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.ReLU(), torch.nn.Linear(32, 32))
fully_shard(model, mesh=init_device_mesh("cpu", (2,)))
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
for step in range(20):
    model(torch.randn(8, 32)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % 10 == 9:
        weights, state = get_state_dict(model, optimizer)
        dcp.save({"model": weights, "optim": state}, checkpoint_id=f"ckpt/{step}")
        logging.info("rank %d saved step %d", dist.get_rank(), step)
weights, state = get_state_dict(model, optimizer)
dcp.load({"model": weights, "optim": state}, checkpoint_id="ckpt/9")
set_state_dict(model, optimizer, model_state_dict=weights, optim_state_dict=state)
logging.warning("restored from step 9 after validation loss rose (this is expected in this test)")
dist.barrier()
dist.destroy_process_group()
