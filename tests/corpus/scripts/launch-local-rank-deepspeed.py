# /// case
# env = "ds-0.18.4"
# run = "python -m deepspeed.launcher.runner --num_gpus 2 train.py --lr 1e-4"
# form = "log"
# truth = "The deepspeed launcher passes --local_rank, which the script's argparse does not know."
# expect = ["torchrun-local-rank-argument"]
# evidence = "unrecognized arguments: --local_rank"
# ///
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float)
print(parser.parse_args())
