# /// case
# run = "python train.py"
# form = "traceback"
# truth = "Two special tokens were added to the tokenizer without resizing the model's embedding: id 101 does not exist in a table of 100 rows."
# expect = ["cuda-device-assert-embedding-index"]
# evidence = "IndexError: index out of range in self"
# ///
import torch
from transformers import LlamaConfig, LlamaForCausalLM

model = LlamaForCausalLM(LlamaConfig(vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
                                     intermediate_size=64, max_position_embeddings=64))
ids = torch.tensor([[5, 7, 101, 9]])  # 100 and 101: <|user|> and <|assistant|>
print(model(input_ids=ids, labels=ids).loss)
