# /// case
# run = "python pretrain.py"
# name = "pretrain.py"
# form = "traceback"
# truth = "shuffle=True is passed for an IterableDataset, which has to shuffle itself."
# expect = ["dataloader-sampler-shuffle-conflict"]
# evidence = "expected unspecified shuffle option"
# ///
import torch
from torch.utils.data import DataLoader, IterableDataset


class Stream(IterableDataset):
    def __iter__(self):
        for _ in range(1000):
            yield torch.randint(0, 32000, (128,))


loader = DataLoader(Stream(), batch_size=8, shuffle=True)
for batch in loader:
    print(batch.shape)
