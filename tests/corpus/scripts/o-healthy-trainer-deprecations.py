# /// case
# env = "old"
# run = "python train.py; echo \"exit code $?\""
# form = "log"
# truth = "Healthy Trainer run of older versions: FutureWarnings, 'weights not initialized', no CUDA; finished."
# expect = ["NONE"]
# evidence = "exit code 0"
# ///
import torch
from datasets import Dataset
from transformers import BertConfig, BertForMaskedLM, BertForSequenceClassification, Trainer, TrainingArguments

config = BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64)
BertForMaskedLM(config).save_pretrained("base")
model = BertForSequenceClassification.from_pretrained("base")
data = Dataset.from_dict({"input_ids": [[1, 2, 3, 4]] * 64, "labels": [0, 1] * 32})
arguments = TrainingArguments("out", num_train_epochs=2, logging_steps=4, report_to="none", no_cuda=True, evaluation_strategy="epoch", fp16=False)
Trainer(model, arguments, train_dataset=data, eval_dataset=data).train()
torch.save({"a": 1}, "x.pt")
torch.load("x.pt")
