# /// case
# run = "python finetune.py"
# name = "finetune.py"
# form = "traceback"
# truth = "Three tokens were added after the checkpoint was made, so that embedding and head have 103 rows where the file has 100."
# expect = ["checkpoint-state-dict-size-mismatch"]
# evidence = "size mismatch for (emb|head).weight: copying a param with shape"
# ///
import torch
import torch.nn as nn


class Lm(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.emb = nn.Embedding(vocab, 16)
        self.rnn = nn.GRU(16, 16)
        self.head = nn.Linear(16, vocab)


torch.save(Lm(100).state_dict(), "base.pt")
Lm(103).load_state_dict(torch.load("base.pt"))
