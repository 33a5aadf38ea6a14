# /// case
# run = "accelerate launch --config_file acc.yaml train.py"
# form = "log"
# truth = "A record of the user's own data has no caption: KeyError in own code, in one process under accelerate launch."
# expect = ["NONE"]
# also_ok = ["accelerate-launch-wrapper-error"]
# evidence = "KeyError: 'caption'"
# ///
import torch
from accelerate import Accelerator

accelerator = Accelerator(cpu=True)
model = torch.nn.Linear(8, 8)
model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), 0.1))
records = [{"image": i, "caption": "x" * i} for i in range(64)]
del records[43]["caption"]
for i in range(accelerator.process_index, 64, accelerator.num_processes):
    length = len(records[i]["caption"])
    loss = model(torch.full((2, 8), float(length % 5))).square().mean()
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
    if i < 20:
        accelerator.print(f"record {i} loss {loss.item():.4f}")
# --- file: acc.yaml
compute_environment: LOCAL_MACHINE
distributed_type: MULTI_CPU
machine_rank: 0
main_training_function: main
mixed_precision: 'no'
num_machines: 1
num_processes: 2
use_cpu: true
