# /// case
# env = "old"
# run = "python train.py"
# form = "traceback"
# cut = "traceback"
# truth = "A function that calls a logger is compiled with fullgraph=True."
# expect = ["compile-graph-break-fullgraph"]
# evidence = "torch._dynamo.exc.Unsupported"
# ///
import logging

import torch


@torch.compile(fullgraph=True, backend="eager")
def forward(x):
    y = x.relu()
    if y.mean().item() > 0.1:
        logging.warning("large activation")
    torch._dynamo.graph_break()
    return y


forward(torch.randn(8))
