# /// case
# run = """
# for n in 0 1; do mkdir -p node$n; cp train.py node$n; done; mkdir -p node0/ckpt; python -c "import torch; torch.save({'w': torch.ones(4)}, 'node0/ckpt/last.pt')"
# for n in 0 1; do (cd node$n; torchrun --nnodes 2 --node-rank $n --nproc-per-node 2 --master-addr 127.0.0.1 --master-port 29500 train.py > ../node$n.log 2>&1) & done; wait"""
# form = "multirank"
# keep = ["node0.log", "node1.log"]
# truth = "The checkpoint was written to a folder that only node 0 has; ranks 2 and 3 on node 1 do not find it."
# expect = ["checkpoint-node-local-dir-missing-on-other-ranks"]
# also_ok = ["data-file-or-checkpoint-path-not-found"]
# initiating_ranks = [2, 3]
# evidence = "No such file or directory: 'ckpt/last.pt'"
# difficulty = "hard"
# ///
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
print(f"rank {dist.get_rank()}: loading ckpt/last.pt", flush=True)
state = torch.load("ckpt/last.pt")
dist.all_reduce(state["w"])
print(f"rank {dist.get_rank()}: training", flush=True)
