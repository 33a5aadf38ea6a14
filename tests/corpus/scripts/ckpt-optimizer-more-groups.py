# /// case
# run = "python train.py --resume ckpt.pt"
# form = "traceback"
# truth = "The resumed script has split the parameters into decay and no-decay groups; the checkpoint's optimizer had one group."
# expect = ["checkpoint-optimizer-param-group-mismatch"]
# evidence = "different number of parameter groups"
# ///
import torch

model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.LayerNorm(8), torch.nn.Linear(8, 2))
torch.save({"optimizer": torch.optim.AdamW(model.parameters()).state_dict()}, "ckpt.pt")
decay = [p for p in model.parameters() if p.dim() > 1]
rest = [p for p in model.parameters() if p.dim() <= 1]
optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}])
optimizer.load_state_dict(torch.load("ckpt.pt")["optimizer"])
