# /// case
# run = "python train.py"
# form = "traceback"
# truth = "A print inside a function compiled with fullgraph=True cannot be captured."
# expect = ["compile-graph-break-fullgraph"]
# evidence = "torch._dynamo.exc.Unsupported"
# ///
import torch


@torch.compile(fullgraph=True)
def loss(x):
    y = x.square().mean()
    if y > 0.5:
        y = y * 2
    return y


print(loss(torch.randn(32)))
