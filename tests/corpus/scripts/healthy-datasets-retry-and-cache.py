# /// case
# run = "python prepare.py; echo \"status $?\""
# name = "prepare.py"
# form = "log"
# truth = "Healthy preparation: unhashable transform warning, two caught JSON errors and a retry; the dataset is written."
# expect = ["NONE"]
# also_ok = ["datasets-map-not-hashable"]
# evidence = "status 0"
# ///
import json
import logging
import threading

from datasets import Dataset

logging.basicConfig(level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s")
lock = threading.Lock()
rows = []
for n, line in enumerate(['{"text": "a b"}', '{"text": "c"', '{"text": "d e f"}', "Infinity,"] * 40):
    try:
        rows.append(json.loads(line))
    except json.JSONDecodeError:
        if n < 8:
            logging.exception("line %d is broken, skipped", n)


def count(row):
    with lock:
        return {"n": len(row["text"].split())}


data = Dataset.from_list(rows).map(count)
data.save_to_disk("prepared")
logging.info("80 of 160 lines kept, 80 errors")
print("prepared", len(data))
