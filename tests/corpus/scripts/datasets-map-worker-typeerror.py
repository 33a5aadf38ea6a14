# /// case
# run = "python preprocess.py"
# name = "preprocess.py"
# form = "log"
# truth = "One record has None in place of its text and the mapped function fails in a worker process (num_proc=2)."
# expect = ["datasets-map-worker-exception"]
# evidence = "AttributeError: 'NoneType' object has no attribute 'lower'"
# ///
from datasets import Dataset

data = Dataset.from_dict({"text": ["Some Text"] * 3000 + [None] + ["More"] * 99})
data = data.map(lambda row: {"clean": row["text"].lower()}, num_proc=2)
print(data)
