# /// case
# run = "python train.py"
# form = "traceback"
# cut = "traceback"
# truth = "The C++ extension is built just in time and ninja is not found."
# expect = ["env-ninja-missing"]
# evidence = "^RuntimeError: Ninja is required"
# ///
import os

os.environ["PATH"] = "/nonexistent"
from torch.utils.cpp_extension import load_inline

load_inline("fused", cpp_sources="int one() { return 1; }", functions=["one"])
