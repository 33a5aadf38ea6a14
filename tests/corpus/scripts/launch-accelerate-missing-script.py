# /// case
# run = "accelerate launch --num_processes 2 --cpu scripts/train_sft.py --config sft.yaml"
# name = "train_dpo.py"
# form = "log"
# truth = "The script named on the command line does not exist."
# expect = ["torchrun-script-path-wrong"]
# also_ok = ["accelerate-launch-wrapper-error", "torchrun-childfailed-summary"]
# evidence = "can't open file|No such file or directory"
# ///
print("another script")
