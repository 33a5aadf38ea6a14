# /// case
# run = "python train.py"
# form = "traceback"
# cut = "traceback"
# truth = "A CUDA extension is built where no CUDA toolkit is installed (CUDA_HOME unset, no nvcc)."
# expect = ["env-cuda-home-not-set"]
# also_ok = ["env-ninja-missing"]
# evidence = "^OSError: CUDA_HOME"
# ///
import os

os.environ["PATH"] = os.environ["PATH"].split(":")[0] + ":/usr/bin:/bin"
from torch.utils import cpp_extension

cpp_extension.CUDA_HOME = cpp_extension._find_cuda_home() and None
cpp_extension.CUDAExtension("ops", ["ops.cu"])
