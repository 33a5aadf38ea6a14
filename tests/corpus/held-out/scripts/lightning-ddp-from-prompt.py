# /// case
# run = "python -i < train.py 2>&1 | tail -n 40"
# form = "log"
# truth = "strategy='ddp' from an interactive session (cells pasted into a prompt)."
# expect = ["lightning-notebook-strategy"]
# evidence = "is not compatible with an interactive environment"
# ///
import lightning as L
trainer = L.Trainer(max_epochs=1, devices=2, accelerator="cpu", strategy="ddp", logger=False)
