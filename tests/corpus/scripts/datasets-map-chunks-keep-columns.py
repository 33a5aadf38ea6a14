# /// case
# run = "python tokenize_corpus.py"
# name = "tokenize_corpus.py"
# form = "log"
# truth = "A batched map cuts texts in blocks (another number of rows) but keeps the text column."
# expect = ["datasets-map-batched-column-length-mismatch"]
# evidence = "Column 1 named input_ids expected length"
# ///
from datasets import Dataset

data = Dataset.from_dict({"text": [" ".join(str(n) for n in range(40))] * 2000})


def blocks(batch):
    ids = [int(word) for text in batch["text"] for word in text.split()]
    return {"input_ids": [ids[i:i + 128] for i in range(0, len(ids), 128)]}


data = data.map(blocks, batched=True)
print(data)
