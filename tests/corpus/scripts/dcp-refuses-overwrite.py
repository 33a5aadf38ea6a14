# /// case
# run = "python train.py"
# form = "traceback"
# truth = "The second DCP save goes to a folder that already holds a checkpoint, with overwrite=False."
# expect = ["checkpoint-dcp-checkpoint-exists"]
# evidence = "^RuntimeError: Checkpoint already exists"
# ///
import torch
import torch.distributed.checkpoint as dcp

state = {"w": torch.randn(8, 8)}
for step in (100, 200):
    dcp.save(state, storage_writer=dcp.FileSystemWriter("ckpt/latest", overwrite=False))
