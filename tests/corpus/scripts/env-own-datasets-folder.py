# /// case
# run = "python train.py"
# form = "traceback"
# truth = "The project has a folder named datasets, which is imported in place of the library."
# expect = ["env-local-file-shadows-package"]
# evidence = "cannot import name 'load_dataset' from 'datasets' "
# ///
from datasets import load_dataset

load_dataset("json", data_files="x.jsonl")
# --- file: datasets/__init__.py
from .coco import CocoDetection
# --- file: datasets/coco.py
class CocoDetection:
    pass
