# /// case
# env = "old"
# run = "python dpo.py"
# name = "dpo.py"
# form = "log"
# truth = "The preference data has the columns question/good/bad in place of prompt/chosen/rejected."
# expect = ["trl-dataset-columns-missing"]
# evidence = "KeyError: 'prompt'|KeyError: 'chosen'"
# ///
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from trl import DPOConfig, DPOTrainer

backend = Tokenizer(models.WordLevel({"<unk>": 0, "a": 1, "b": 2}, unk_token="<unk>"))
backend.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>", eos_token="<unk>", pad_token="<unk>", bos_token="<unk>")
model = GPT2LMHeadModel(GPT2Config(n_layer=1, n_embd=16, n_head=2, vocab_size=50))
data = Dataset.from_dict({"question": ["a"] * 8, "good": ["b"] * 8, "bad": ["a"] * 8})
DPOTrainer(model, args=DPOConfig("out", report_to="none", use_cpu=True, max_steps=2, max_length=32, max_prompt_length=16), train_dataset=data, tokenizer=tokenizer).train()
