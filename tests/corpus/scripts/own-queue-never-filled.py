# /// case
# run = "(python serve.py > serve.out 2>&1 &) ; dump_ranks 10"
# name = "serve.py"
# form = "stacks"
# keep = ["serve.out", "stack.*.txt"]
# truth = "The user's own program waits for a queue that nobody fills; nothing of the catalog."
# expect = ["STALLED"]
# also_ok = ["NONE"]
# evidence = "queue.py"
# ///
import queue

jobs = queue.Queue()
print("waiting for jobs", flush=True)
print(jobs.get())
