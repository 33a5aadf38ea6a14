# /// case
# env = "old"
# run = "python sft.py"
# name = "sft.py"
# form = "traceback"
# cut = "traceback"
# truth = "The script follows newer TRL (processing_class=), the installed TRL 0.9.6 knows only tokenizer=."
# expect = ["hf-api-removed-in-new-version"]
# evidence = "unexpected keyword argument 'processing_class'"
# ///
from datasets import Dataset
from transformers import GPT2Config, GPT2LMHeadModel
from trl import SFTConfig, SFTTrainer

data = Dataset.from_dict({"text": ["a b c"] * 8})
SFTTrainer(GPT2LMHeadModel(GPT2Config(n_layer=1, n_embd=16, n_head=2, vocab_size=50)), train_dataset=data,
           args=SFTConfig("out", report_to="none", use_cpu=True, dataset_text_field="text", max_seq_length=32), processing_class=None)
