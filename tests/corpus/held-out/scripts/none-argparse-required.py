# /// case
# run = "python train.py --lr 1e-4"
# form = "log"
# truth = "A required command line argument of the user's script is missing."
# expect = ["NONE"]
# evidence = "the following arguments are required: --data-dir"
# ///
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--data-dir", required=True)
parser.add_argument("--lr", type=float, default=1e-4)
parser.parse_args()
