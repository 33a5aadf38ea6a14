# /// case
# run = "CXX=/usr/bin/c++-none python train.py"
# form = "log"
# truth = "No C++ compiler where CXX says (slim container): Inductor cannot build its kernels."
# expect = ["compile-no-cxx-compiler"]
# evidence = "^torch._inductor.exc.InductorError|^InvalidCxxCompiler|^torch.*No working"
# ///
import torch

model = torch.compile(torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU()))
for step in range(3):
    print("step", step, model(torch.randn(4, 8)).sum().item(), flush=True)
