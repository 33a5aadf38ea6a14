# /// case
# run = "python evaluate.py"
# name = "evaluate.py"
# form = "log"
# truth = "The weights were saved from a DDP-wrapped model, every key begins with 'module.', so that transformers loads nothing and evaluates random weights."
# expect = ["checkpoint-weights-silently-not-loaded"]
# also_ok = ["checkpoint-state-dict-key-prefix"]
# evidence = "MISSING|newly initialized"
# difficulty = "hard"
# ///
import torch
from safetensors.torch import load_file, save_file
from transformers import BertConfig, BertForSequenceClassification

config = BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64)
BertForSequenceClassification(config).save_pretrained("out")
weights = load_file("out/model.safetensors")
save_file({"module." + key: value for key, value in weights.items()}, "out/model.safetensors", metadata={"format": "pt"})
model = BertForSequenceClassification.from_pretrained("out").eval()
right = sum(int(model(torch.randint(0, 100, (1, 12))).logits.argmax() == label % 2) for label in range(200))
print(f"accuracy on dev: {right / 200:.3f} (was 0.914 at the end of training)")
