# /// case
# run = "python train.py"
# form = "log"
# truth = "The compute node is offline (HF_HUB_OFFLINE=1) and the dataset is not in the cache."
# expect = ["hf-hub-unreachable-offline"]
# evidence = "ffline"
# ///
from datasets import load_dataset

train = load_dataset("wikitext", "wikitext-103-raw-v1", split="train")
