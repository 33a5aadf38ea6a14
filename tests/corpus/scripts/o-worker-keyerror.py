# /// case
# env = "old"
# run = "torchrun --nproc_per_node=2 main.py"
# name = "main.py"
# form = "log"
# truth = "A DataLoader worker of rank 1 raises ValueError for a damaged record; rank 0 falls with the broken connection."
# expect = ["dataloader-worker-exception"]
# also_ok = ["dist-rank-local-exception-kills-job"]
# initiating_rank = 1
# evidence = "Caught ValueError in DataLoader worker process"
# ///
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Records(Dataset):
    def __len__(self):
        return 256

    def __getitem__(self, i):
        if i == 201:
            raise ValueError(f"record {i}: bad checksum 0x5f3c, expected 0x91aa")
        return torch.randn(10), i % 2


dist.init_process_group("gloo")
data = Records()
loader = DataLoader(data, 8, sampler=DistributedSampler(data, shuffle=False), num_workers=2)
model = DDP(torch.nn.Linear(10, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for i, (x, y) in enumerate(loader):
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if dist.get_rank() == 0:
        print(f"Iter [{i}/{len(loader)}] loss: {loss.item():.4f}", flush=True)
