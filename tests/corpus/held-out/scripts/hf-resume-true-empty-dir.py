# /// case
# run = "python train.py"
# form = "traceback"
# cut = "traceback"
# truth = "resume_from_checkpoint=True, but the output folder holds no checkpoint-* folder (first start)."
# expect = ["hf-resume-no-checkpoint"]
# evidence = "^ValueError: No valid checkpoint"
# ///
from datasets import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

config = BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64)
data = Dataset.from_dict({"input_ids": [[1, 2, 3, 4]] * 32, "labels": [0, 1] * 16})
arguments = TrainingArguments("out/run1", max_steps=4, report_to="none", use_cpu=True)
Trainer(BertForSequenceClassification(config), arguments, train_dataset=data).train(resume_from_checkpoint=True)
