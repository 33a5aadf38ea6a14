# /// case
# run = "python grpo.py; echo \"exit $?\""
# name = "grpo.py"
# form = "log"
# limit = 120
# truth = "Healthy GRPO run: loss 0.0 in the first steps is by construction (advantages are centred), finished with exit 0."
# expect = ["NONE"]
# also_ok = ["trl-kl-zero-at-start"]
# evidence = "exit 0"
# ///
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer

words = {w: i for i, w in enumerate(["[PAD]", "[UNK]", "[EOS]"] + [f"w{i}" for i in range(60)])}
backend = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
backend.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, pad_token="[PAD]", unk_token="[UNK]", eos_token="[EOS]", padding_side="left")
GPT2LMHeadModel(GPT2Config(n_layer=1, n_embd=16, n_head=2, vocab_size=len(words), eos_token_id=2, bos_token_id=2, pad_token_id=0)).save_pretrained("policy")
tokenizer.save_pretrained("policy")
data = Dataset.from_dict({"prompt": ["w1 w2 w3", "w4 w5"] * 8})
GRPOTrainer("policy", reward_funcs=lambda completions, **_: [float(len(set(c.split()))) for c in completions], train_dataset=data,
            args=GRPOConfig("out", max_steps=3, per_device_train_batch_size=4, num_generations=4, max_completion_length=8,
                            logging_steps=1, report_to="none", use_cpu=True, bf16=False)).train()
