# /// case
# run = "python load.py"
# name = "load.py"
# form = "traceback"
# truth = "The model was built on the meta device and .to('cpu') is called without loading weights first."
# expect = ["checkpoint-meta-tensor-copy"]
# evidence = "Cannot copy out of meta tensor; no data"
# ///
import torch

with torch.device("meta"):
    model = torch.nn.TransformerEncoderLayer(64, 4)
model = model.to("cpu")
