# /// case
# run = "python prepare.py"
# name = "prepare.py"
# form = "traceback"
# truth = "The user's table has no column 'label' (it is called 'target')."
# expect = ["NONE"]
# evidence = "KeyError: 'label'"
# ///
import pandas as pd

frame = pd.DataFrame({"text": ["a", "b"], "target": [0, 1]})
print(frame["label"].value_counts())
