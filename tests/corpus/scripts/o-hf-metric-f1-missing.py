# /// case
# env = "old"
# run = "python train.py"
# form = "log"
# truth = "metric_for_best_model='f1' but compute_metrics returns only accuracy."
# expect = ["hf-metric-for-best-model-missing"]
# evidence = "eval_f1"
# ///
from datasets import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

config = BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64)
data = Dataset.from_dict({"input_ids": [[1, 2, 3, 4]] * 32, "labels": [0, 1] * 16})
arguments = TrainingArguments("out", num_train_epochs=2, report_to="none", use_cpu=True, eval_strategy="epoch", save_strategy="epoch",
                              load_best_model_at_end=True, metric_for_best_model="f1")
Trainer(BertForSequenceClassification(config), arguments, train_dataset=data, eval_dataset=data,
        compute_metrics=lambda outcome: {"accuracy": (outcome.predictions.argmax(-1) == outcome.label_ids).mean()}).train()
