# /// case
# env = "old"
# run = "python run_glue.py"
# name = "run_glue.py"
# form = "traceback"
# cut = "traceback"
# truth = "load_best_model_at_end with evaluation every epoch and saving every 500 steps."
# expect = ["hf-load-best-model-strategy-mismatch"]
# evidence = "requires the save and eval strategy to match"
# ///
from transformers import TrainingArguments

TrainingArguments("out", eval_strategy="epoch", save_strategy="steps", load_best_model_at_end=True, use_cpu=True)
