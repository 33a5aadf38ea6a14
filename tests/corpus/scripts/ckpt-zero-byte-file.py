# /// case
# run = "python resume.py"
# name = "resume.py"
# form = "traceback"
# truth = "The checkpoint has 0 bytes (the job was killed before the data reached the disk)."
# expect = ["checkpoint-corrupt-zip-archive"]
# evidence = "^EOFError"
# ///
import torch

open("last.pt", "wb").close()
state = torch.load("last.pt", map_location="cpu")
