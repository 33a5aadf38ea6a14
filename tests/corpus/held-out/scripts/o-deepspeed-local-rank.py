# /// case
# env = "old"
# run = "deepspeed --num_gpus 1 --num_nodes 1 train.py"
# form = "log"
# truth = "The deepspeed launcher passes --local_rank=0 to a script whose argparse does not know it (DeepSpeed 0.14.5)."
# expect = ["torchrun-local-rank-argument"]
# evidence = "unrecognized arguments: --local_rank=0"
# ///
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=3)
args = parser.parse_args()
