# /// case
# env = "ds-0.16.9"
# run = "printf 'worker-1 slots=8\\nworker-2 slots=8\\n' > hostfile; python -m deepspeed.launcher.runner --hostfile hostfile train.py"
# form = "log"
# truth = "The first host of the hostfile cannot be reached by ssh."
# expect = ["deepspeed-hostfile-ssh-unreachable"]
# evidence = "was not reachable via ssh"
# ///
print("never reached")
