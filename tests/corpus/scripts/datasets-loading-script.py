# /// case
# run = "python train.py"
# form = "traceback"
# truth = "The local dataset is a loading script, which datasets 4 and later no longer run."
# expect = ["datasets-script-unsupported"]
# evidence = "^RuntimeError: Dataset scripts are no longer"
# ///
from datasets import load_dataset

data = load_dataset("./corpus/corpus.py", split="train")
# --- file: corpus/corpus.py
import datasets


class Corpus(datasets.GeneratorBasedBuilder):
    def _info(self):
        return datasets.DatasetInfo(features=datasets.Features({"text": datasets.Value("string")}))

    def _split_generators(self, dl):
        return [datasets.SplitGenerator("train")]

    def _generate_examples(self):
        yield 0, {"text": "a"}
