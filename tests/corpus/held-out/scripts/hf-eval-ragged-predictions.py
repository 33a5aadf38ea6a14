# /// case
# run = "python eval.py"
# name = "eval.py"
# form = "traceback"
# truth = "compute_metrics builds an array of token lists of unequal length."
# expect = ["hf-eval-predictions-ragged-shapes"]
# evidence = "inhomogeneous shape after"
# ///
import numpy as np
from datasets import Dataset
from transformers import BertConfig, BertForTokenClassification, Trainer, TrainingArguments

config = BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64)


def compute_metrics(outcome):
    predictions = outcome.predictions.argmax(-1)
    kept = [row[label != -100] for row, label in zip(predictions, outcome.label_ids)]
    return {"accuracy": (np.array(kept) == 0).mean()}


rows = [{"input_ids": [2] * 8, "labels": [0] * n + [-100] * (8 - n)} for n in (5, 7, 8, 4) * 8]
trainer = Trainer(BertForTokenClassification(config), TrainingArguments("out", report_to="none", use_cpu=True),
                  eval_dataset=Dataset.from_list(rows), compute_metrics=compute_metrics)
print(trainer.evaluate())
