# /// case
# env = "old"
# run = "python train.py"
# form = "log"
# truth = "The dataset has no labels column, so that the model returns no loss."
# expect = ["hf-no-loss-returned"]
# evidence = "did not return a loss from the inputs"
# ///
from datasets import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

config = BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64)
data = Dataset.from_dict({"input_ids": [[1, 2, 3, 4]] * 32, "target": [0, 1] * 16})
Trainer(BertForSequenceClassification(config), TrainingArguments("out", max_steps=4, report_to="none", use_cpu=True), train_dataset=data).train()
