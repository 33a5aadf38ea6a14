# /// case
# run = "python train.py"
# form = "traceback"
# truth = "The user's YAML config is indented with a tab."
# expect = ["NONE"]
# evidence = "found character .* that cannot start any token"
# ///
import yaml

print(yaml.safe_load("model:\n\tname: tiny\n\tlayers: 4\n"))
