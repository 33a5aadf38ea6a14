# /// case
# env = "ds-0.16.9"
# run = "(torchrun --nproc-per-node 2 train.py > train.out 2>&1 &) ; dump_ranks 40"
# form = "stacks"
# keep = ["train.out", "stack.rank*.txt"]
# truth = "engine.save_checkpoint is called on rank 0 only; it is collective, so rank 0 waits inside it and rank 1 in the next step."
# expect = ["deepspeed-save-checkpoint-rank0-only-hang"]
# initiating_rank = 0
# evidence = "save_checkpoint"
# difficulty = "hard"
# ///
import deepspeed
import torch

deepspeed.init_distributed("gloo")
model = torch.nn.Linear(16, 16)
config = {"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 1}, "steps_per_print": 1000}
engine, *_ = deepspeed.initialize(model=model, config=config, optimizer=torch.optim.Adam(model.parameters(), 1e-3))
for step in range(1, 100):
    engine.backward(engine(torch.randn(4, 16)).square().mean())
    engine.step()
    if step % 20 == 0 and engine.global_rank == 0:
        print(f"step {step}: saving", flush=True)
        engine.save_checkpoint("ckpt")
