# /// case
# run = "mv_ninja=1; mkdir -p b; PATH=/usr/bin:/bin python3 -V; python train.py"
# form = "traceback"
# cut = "traceback"
# truth = "The C++ extension is built just in time and ninja is not found."
# expect = ["env-ninja-missing"]
# evidence = "Ninja is required to load C\\+\\+ extensions"
# ///
import os

os.environ["PATH"] = "/usr/bin:/bin"
from torch.utils.cpp_extension import load_inline

load_inline("fused", cpp_sources="int one() { return 1; }", functions=["one"])
