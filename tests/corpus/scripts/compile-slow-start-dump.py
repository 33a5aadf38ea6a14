# /// case
# run = "python train.py"
# form = "stacks"
# keep = ["console.log"]
# truth = "Stacks dumped after 12 s while torch.compile still traces a model of 120 layers for the first step on a busy machine: work, no hang."
# expect = ["compile-slow-first-step"]
# also_ok = ["NONE", "STALLED"]
# evidence = "_dynamo"
# difficulty = "hard"
# ///
import faulthandler

import torch

torch._dynamo.config.suppress_errors = False
print("compiling ...", flush=True)
faulthandler.dump_traceback_later(12)
blocks = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(32 + i, 33 + i), torch.nn.GELU(), torch.nn.LayerNorm(33 + i)) for i in range(40)])
step = torch.compile(blocks)
print("loss", step(torch.randn(4, 32)).square().mean().item(), flush=True)
