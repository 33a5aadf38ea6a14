# /// case
# run = "python grpo.py"
# name = "grpo.py"
# form = "traceback"
# cut = "traceback"
# truth = "use_vllm=True without vLLM installed."
# expect = ["env-python-package-missing"]
# evidence = "^ImportError: vLLM is not available"
# ///
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer

backend = Tokenizer(models.WordLevel({"[PAD]": 0, "[UNK]": 1, "[EOS]": 2, "a": 3}, unk_token="[UNK]"))
PreTrainedTokenizerFast(tokenizer_object=backend, pad_token="[PAD]", unk_token="[UNK]", eos_token="[EOS]").save_pretrained("policy")
GPT2LMHeadModel(GPT2Config(n_layer=1, n_embd=16, n_head=2, vocab_size=8, eos_token_id=2, bos_token_id=2)).save_pretrained("policy")
GRPOTrainer("policy", reward_funcs=lambda completions, **_: [0.0] * len(completions), train_dataset=Dataset.from_dict({"prompt": ["a a"] * 8}),
            args=GRPOConfig("out", max_steps=1, per_device_train_batch_size=4, num_generations=4, report_to="none", use_cpu=True, bf16=False, use_vllm=True)).train()
