# /// case
# env = "new"
# run = "python train.py"
# form = "log"
# truth = "Two shards for four DataLoader workers: two workers get none."
# expect = ["data-webdataset-fewer-shards-than-workers"]
# also_ok = ["dataloader-worker-exception"]
# evidence = "No samples found in dataset"
# ///
import io
import tarfile

import webdataset as wds
from torch.utils.data import DataLoader

for shard in range(2):
    with tarfile.open(f"train-{shard:04d}.tar", "w") as tar:
        for i in range(10):
            info = tarfile.TarInfo(f"{shard}{i:03d}.txt")
            info.size = 2
            tar.addfile(info, io.BytesIO(b"ab"))
data = wds.WebDataset("train-{0000..0001}.tar", shardshuffle=False).decode().to_tuple("txt")
for step, batch in enumerate(DataLoader(data, batch_size=2, num_workers=4)):
    print("step", step, batch, flush=True)
