# /// case
# env = "old-tf4.52"
# run = "python eval.py"
# name = "eval.py"
# form = "traceback"
# cut = "from:^Traceback"
# truth = "transformers 4.52 refuses to load pytorch_model.bin with torch 2.4."
# expect = ["env-transformers-torch-load-needs-2-6"]
# evidence = "upgrade torch to at least v2.6"
# ///
import torch
from transformers import BertConfig, BertForSequenceClassification

config = BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64)
config.save_pretrained("out")
torch.save(BertForSequenceClassification(config).state_dict(), "out/pytorch_model.bin")
BertForSequenceClassification.from_pretrained("out")
