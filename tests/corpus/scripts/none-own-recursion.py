# /// case
# run = "python build_tree.py"
# name = "build_tree.py"
# form = "log"
# cut = "tail:14"
# truth = "The user's own recursive function over the configuration never ends (a reference to itself)."
# expect = ["NONE"]
# evidence = "RecursionError: maximum recursion depth exceeded"
# ///
def resolve(config, key):
    value = config[key]
    return resolve(config, value[1:]) if value.startswith("$") else value


print(resolve({"lr": "$base_lr", "base_lr": "$lr"}, "lr"))
