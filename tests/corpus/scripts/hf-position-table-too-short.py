# /// case
# run = "python train.py"
# form = "log"
# truth = "A sequence of 700 tokens meets a position table of 512 rows (max_position_embeddings)."
# expect = ["hf-sequence-exceeds-max-positions"]
# also_ok = ["cuda-device-assert-embedding-index"]
# evidence = "Token indices sequence length is longer than|index out of range in self|must match the (existing )?size"
# ///
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

backend = Tokenizer(models.WordLevel({"[PAD]": 0, "[UNK]": 1, "a": 2}, unk_token="[UNK]"))
backend.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, pad_token="[PAD]", unk_token="[UNK]", model_max_length=512)
model = BertModel(BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64))
for length in (128, 300, 700):
    batch = tokenizer(" ".join(["a"] * length), return_tensors="pt", return_token_type_ids=False)
    print(length, model(**batch).last_hidden_state.shape, flush=True)
