# /// case
# run = "python train.py"
# form = "traceback"
# cut = "traceback"
# truth = "tiktoken/sentencepiece is not installed, the slow tokenizer needs it."
# expect = ["env-python-package-missing"]
# evidence = "requires the|SentencePiece|sentencepiece|No module named"
# ///
from transformers import XLMProphetNetTokenizer

XLMProphetNetTokenizer("spm.model")
