# /// case
# env = "old"
# run = "python train.py"
# form = "log"
# truth = "A compiled function is called with a different Python integer each time and reaches the limit of recompilations (8)."
# expect = ["compile-recompile-limit"]
# evidence = "cache_size_limit"
# ///
import torch


@torch.compile(backend="eager")
def scaled(x, step):
    return x * (0.1 if step % 100 == 0 else step.__index__() * 0.5) if isinstance(step, int) else x


torch._dynamo.config.specialize_int = True
for step in range(1, 14):
    out = scaled(torch.ones(4), step)
    print("step", step, out.sum().item())
print("done")
