# /// case
# run = "python train_ner.py"
# name = "train_ner.py"
# form = "log"
# truth = "Labels have different lengths and the collator pads only input_ids: no tensor can be built of them."
# expect = ["hf-collator-tensor-creation-padding"]
# also_ok = ["dataloader-collate-unequal-sizes"]
# evidence = "Unable to create tensor, you should probably activate truncation and/or padding"
# ///
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (BertConfig, BertForTokenClassification, DataCollatorWithPadding, PreTrainedTokenizerFast,
                          Trainer, TrainingArguments)

backend = Tokenizer(models.WordLevel({"[PAD]": 0, "[UNK]": 1, "a": 2, "b": 3}, unk_token="[UNK]"))
backend.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, pad_token="[PAD]", unk_token="[UNK]")
config = BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64)
rows = [{"input_ids": [2] * n, "labels": [0] * n} for n in (5, 7, 9, 4) * 8]
Trainer(BertForTokenClassification(config), TrainingArguments("out", max_steps=4, report_to="none", use_cpu=True),
        train_dataset=Dataset.from_list(rows), data_collator=DataCollatorWithPadding(tokenizer)).train()
