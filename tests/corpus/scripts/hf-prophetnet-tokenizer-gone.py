# /// case
# run = "python train.py"
# form = "traceback"
# cut = "traceback"
# truth = "The class XLMProphetNetTokenizer was removed from newer transformers (deprecated models)."
# expect = ["hf-api-removed-in-new-version"]
# evidence = "cannot import name 'XLMProphetNetTokenizer'"
# ///
from transformers import XLMProphetNetTokenizer

XLMProphetNetTokenizer("spm.model")
