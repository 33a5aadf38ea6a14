# /// case
# env = "old"
# run = "python train.py"
# form = "traceback"
# cut = "traceback"
# truth = "Offline node and the model is not in the cache."
# expect = ["hf-hub-unreachable-offline"]
# evidence = "We couldn't connect to|offline mode"
# ///
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("google-bert/bert-base-uncased")
