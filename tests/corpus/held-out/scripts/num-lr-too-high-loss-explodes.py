# /// case
# run = "python train.py"
# form = "log"
# truth = "Learning rate 8.0 for SGD: the loss grows step by step until it is inf and nan."
# expect = ["numerics-lr-too-high-divergence"]
# also_ok = ["numerics-nan-loss-fp16-overflow"]
# evidence = "loss inf|loss nan"
# ///
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=8.0)
print("lr=8.0 batch=32 precision=fp32")
for step in range(0, 60):
    x = torch.randn(32, 16)
    loss = (net(x) - x[:, :1]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(net.parameters(), 1e30)
    optimizer.step()
    if step % 2 == 0:
        print(f"step {step:3d} loss {loss.item():.4g} grad_norm {norm.item():.4g}")
