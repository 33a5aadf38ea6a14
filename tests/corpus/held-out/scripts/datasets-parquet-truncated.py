# /// case
# run = "python prepare.py"
# name = "prepare.py"
# form = "log"
# truth = "The parquet file was copied only in part: its footer is missing."
# expect = ["datasets-parquet-corrupt"]
# evidence = "Parquet magic bytes not found|magic bytes"
# ///
import os

import pyarrow as pa
import pyarrow.parquet as pq
from datasets import load_dataset

os.makedirs("data", exist_ok=True)
pq.write_table(pa.table({"text": ["a sentence of words"] * 5000}), "data/train-00000-of-00001.parquet")
with open("data/train-00000-of-00001.parquet", "r+b") as handle:
    handle.truncate(600)
data = load_dataset("parquet", data_files="data/*.parquet", split="train")
print(data)
