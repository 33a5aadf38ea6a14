# /// case
# run = "python finetune.py"
# name = "finetune.py"
# form = "traceback"
# truth = "The script imports AdamW from transformers, which newer transformers no longer has (torch.optim.AdamW)."
# expect = ["hf-api-removed-in-new-version"]
# evidence = "cannot import name 'AdamW'"
# ///
import torch
from transformers import AdamW, AutoModelForSequenceClassification

model = AutoModelForSequenceClassification.from_pretrained("./bert")
optimizer = AdamW(model.parameters(), lr=2e-5)
