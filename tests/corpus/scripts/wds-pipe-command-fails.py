# /// case
# env = "new"
# run = "python train.py"
# form = "log"
# truth = "The pipe: command of a WebDataset URL ends with an error (the file is not on the node)."
# expect = ["data-webdataset-pipe-exit"]
# also_ok = ["data-file-or-checkpoint-path-not-found", "dataloader-worker-exception"]
# evidence = "tarfile.ReadError: .*empty file|cat: .*No such file"
# ///
import webdataset as wds
from torch.utils.data import DataLoader

data = wds.WebDataset("pipe:cat /mnt/shards/train-{0000..0007}.tar", shardshuffle=False).decode().to_tuple("txt")
for step, batch in enumerate(DataLoader(data, batch_size=2, num_workers=2)):
    print("step", step, batch, flush=True)
