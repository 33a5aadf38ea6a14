# /// case
# run = "python train.py --config configs/base.yaml"
# form = "traceback"
# truth = "The user's own config has no 'warmup' key: KeyError in own code, nothing of a framework."
# expect = ["NONE"]
# evidence = "KeyError: 'warmup_steps'"
# ///
config = {"lr": 3e-4, "batch": 32}


def schedule(config):
    return config["lr"], config["warmup_steps"]


print(schedule(config))
