# /// case
# run = "python train.py && python train.py --resume; echo \"exit $?\""
# form = "log"
# truth = "Healthy: a Trainer run and its resume, with warnings about changed arguments; exit 0."
# expect = ["NONE"]
# evidence = "exit 0"
# ///
import sys

from datasets import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

config = BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64)
data = Dataset.from_dict({"input_ids": [[1, 2, 3, 4]] * 64, "labels": [0, 1] * 32})
resume = "--resume" in sys.argv
arguments = TrainingArguments("out", max_steps=12 if resume else 8, save_steps=4, logging_steps=5 if resume else 4, report_to="none", use_cpu=True)
Trainer(BertForSequenceClassification(config), arguments, train_dataset=data).train(resume_from_checkpoint=resume)
