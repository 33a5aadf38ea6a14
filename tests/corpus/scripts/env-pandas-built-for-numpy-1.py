# /// case
# env = "mid"
# run = "python train.py"
# form = "traceback"
# truth = "pandas 2.1 was compiled against NumPy 1.x, NumPy 2.1 is installed."
# expect = ["env-numpy-abi-mismatch"]
# evidence = "numpy.dtype size changed, may indicate binary incompatibility"
# ///
import numpy as np
import pandas as pd

print(pd.read_csv("train.csv").shape)
