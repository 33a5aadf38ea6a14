# /// case
# run = "python preprocess.py"
# name = "preprocess.py"
# form = "log"
# truth = "A datasets.map worker is killed (SIGKILL, as the OOM killer does) during the map."
# expect = ["datasets-map-worker-killed"]
# evidence = "One of the subprocesses has abruptly died during map operation"
# ///
import os
import signal

from datasets import Dataset


def encode(row, i):
    if i == 2500:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"n": len(row["text"])}


data = Dataset.from_dict({"text": ["x" * 50] * 4000})
print(data.map(encode, with_indices=True, num_proc=2))
