# /// case
# run = """
# mkdir -p ext_build && touch ext_build/lock
# (python train.py > train.out 2>&1 &) ; dump_ranks 25"""
# form = "stacks"
# keep = ["train.out", "stack.*.txt"]
# truth = "An earlier build of the extension was killed and left its lock file; this run polls for ever."
# expect = ["compile-extension-stale-lock-hang"]
# evidence = "file_baton|FileBaton"
# difficulty = "hard"
# ///
import torch
from torch.utils.cpp_extension import load_inline

print("building fused op ...", flush=True)
op = load_inline("fused_op", cpp_sources="torch::Tensor twice(torch::Tensor x) { return x * 2; }", functions=["twice"],
                 build_directory="ext_build", verbose=True)
print(op.twice(torch.ones(3)))
