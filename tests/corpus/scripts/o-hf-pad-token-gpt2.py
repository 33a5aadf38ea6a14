# /// case
# env = "old"
# run = "python finetune_gpt2.py"
# name = "finetune_gpt2.py"
# form = "traceback"
# cut = "traceback"
# truth = "The tokenizer of a GPT-2 model has no padding token."
# expect = ["hf-tokenizer-pad-token-missing"]
# evidence = "does not have a padding token"
# ///
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

backend = Tokenizer(models.WordLevel({"<unk>": 0, "a": 1, "b": 2}, unk_token="<unk>"))
backend.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>", eos_token="<unk>")
batch = tokenizer(["a b a", "b"], padding="max_length", max_length=16, return_tensors="pt")
