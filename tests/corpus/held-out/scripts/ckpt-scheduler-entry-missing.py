# /// case
# run = "python train.py --resume runs/exp1/last.ckpt"
# form = "log"
# cut = "tail:7"
# truth = "The old checkpoint has no 'scheduler' entry that the resume code asks for."
# expect = ["checkpoint-missing-entry-keyerror"]
# evidence = "KeyError: 'lr_scheduler'"
# ///
import torch

model = torch.nn.Linear(4, 4)
optimizer = torch.optim.AdamW(model.parameters())
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 100)
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}, "last.ckpt")


def resume(path):
    checkpoint = torch.load(path)
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    scheduler.load_state_dict(checkpoint["lr_scheduler"])
    return checkpoint["epoch"] + 1


print("resuming from last.ckpt", flush=True)
start = resume("last.ckpt")
