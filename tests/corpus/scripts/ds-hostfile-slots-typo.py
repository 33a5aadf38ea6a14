# /// case
# env = "ds-0.14.4"
# run = "printf 'worker-1 slots=8\\nworker-2 slot=8\\n' > hostfile; python -m deepspeed.launcher.runner --hostfile hostfile train.py"
# form = "traceback"
# truth = "Second line of the hostfile says 'slot=8' in place of 'slots=8'."
# expect = ["deepspeed-hostfile-bad-entry"]
# evidence = "Hostfile contains a bad entry|hostfile"
# ///
print("never reached")
