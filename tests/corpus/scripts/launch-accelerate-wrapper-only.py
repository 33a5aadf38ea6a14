# /// case
# run = "accelerate launch --num_processes 1 --num_machines 1 --mixed_precision no --dynamo_backend no train.py --stage sft"
# form = "traceback"
# cut = "traceback"
# truth = "Only the wrapper's traceback was pasted: CalledProcessError says nothing of the failure itself."
# expect = ["accelerate-launch-wrapper-error"]
# evidence = "^subprocess.CalledProcessError"
# ///
import sys

print("stage failed: see log/sft.log")
sys.exit(2)
