# /// case
# run = "python train.py"
# form = "log"
# truth = "The second CSV file has one column more (score) than the first."
# expect = ["datasets-schema-cast-error"]
# evidence = "^datasets.exceptions.DatasetGenerationCastError"
# ///
import os

from datasets import load_dataset

os.makedirs("csv", exist_ok=True)
with open("csv/part-0.csv", "w") as f:
    f.write("id,text\n" + "\n".join(f"{i},hello" for i in range(50)))
with open("csv/part-1.csv", "w") as f:
    f.write("id,text,score\n" + "\n".join(f"{i},hello,0.5" for i in range(50)))
data = load_dataset("csv", data_dir="csv")
