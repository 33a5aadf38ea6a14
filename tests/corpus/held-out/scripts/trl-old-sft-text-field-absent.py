# /// case
# env = "old"
# run = "python sft.py"
# name = "sft.py"
# form = "traceback"
# cut = "traceback"
# truth = "SFTTrainer is told to use the column 'text', which the dataset does not have."
# expect = ["trl-dataset-columns-missing"]
# evidence = "^KeyError: 'text'"
# ///
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from trl import SFTConfig, SFTTrainer

backend = Tokenizer(models.WordLevel({"<unk>": 0, "a": 1, "b": 2}, unk_token="<unk>"))
backend.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>", eos_token="<unk>", pad_token="<unk>")
SFTTrainer(GPT2LMHeadModel(GPT2Config(n_layer=1, n_embd=16, n_head=2, vocab_size=50)), train_dataset=Dataset.from_dict({"content": ["a b"] * 8}),
           args=SFTConfig("out", report_to="none", use_cpu=True, dataset_text_field="text", max_seq_length=16), tokenizer=tokenizer).train()
