# /// case
# run = "torchrun --nproc-per-node 2 train.py"
# form = "log"
# truth = "dispatch_batches with an IterableDataset whose batches are padded to different widths."
# expect = ["accelerate-dispatch-batches-shape"]
# also_ok = ["dataloader-collate-unequal-sizes"]
# initiating_rank = 0
# evidence = "Sizes of tensors must match|dispatch_batches"
# ///
import torch
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration
from torch.utils.data import DataLoader, IterableDataset


class Stream(IterableDataset):
    def __iter__(self):
        for i in range(64):
            yield torch.ones(5 + i // 4, dtype=torch.long)


accelerator = Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(dispatch_batches=True))
loader = accelerator.prepare(DataLoader(Stream(), batch_size=4, collate_fn=lambda rows: torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)))
for step, batch in enumerate(loader):
    print(accelerator.process_index, step, tuple(batch.shape), flush=True)
