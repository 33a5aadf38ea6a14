# /// case
# run = "ulimit -n 128; python train.py"
# form = "log"
# truth = "Each sample is a dict of dozens of small tensors and the main process keeps them: every shared tensor holds a file descriptor, until the limit (ulimit -n 128) is reached."
# expect = ["dataloader-too-many-open-files"]
# evidence = "Too many open files|ancdata"
# difficulty = "hard"
# ///
import torch
from torch.utils.data import DataLoader, Dataset


class Graphs(Dataset):
    def __len__(self):
        return 4000

    def __getitem__(self, i):
        return {f"feature_{k}": torch.randn(3) for k in range(12)}


def keep_list(samples):
    return samples


if __name__ == "__main__":
    cache = []
    for step, batch in enumerate(DataLoader(Graphs(), batch_size=4, num_workers=2, collate_fn=keep_list)):
        cache.extend(batch)
        print(f"step {step}: cached {len(cache)} graphs", flush=True)
