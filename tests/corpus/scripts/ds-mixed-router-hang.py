# /// case
# env = "ds-0.18.4"
# run = "(torchrun --nproc-per-node 2 train.py > train.out 2>&1 &) ; dump_ranks 40"
# form = "stacks"
# keep = ["train.out", "stack.rank*.txt"]
# truth = "A batch of rank 1 has no audio, so that rank 1 skips the audio branch whose weights rank 0 gathers (ZeRO-3): the ranks wait in different gathers."
# expect = ["deepspeed-zero3-conditional-module-skip"]
# also_ok = ["STALLED", "dist-mismatched-collectives"]
# evidence = "fetch_sub_module"
# difficulty = "hard"
# ///
import deepspeed
import torch

deepspeed.init_distributed("gloo")


class Gated(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.base = torch.nn.Linear(32, 32)
        self.audio_tower = torch.nn.Linear(32, 48)
        self.out = torch.nn.Linear(32, 32)
        self.merge = torch.nn.Linear(48, 32)

    def forward(self, x, audio):
        h = self.base(x)
        if audio is not None:
            h = h + self.merge(self.audio_tower(audio))
        return self.out(h).float()


model = Gated()
config = {"train_micro_batch_size_per_gpu": 4, "bf16": {"enabled": True}, "steps_per_print": 1000,
          "zero_optimization": {"stage": 3, "stage3_param_persistence_threshold": 0}}
engine, *_ = deepspeed.initialize(model=model, config=config, optimizer=torch.optim.AdamW(model.parameters(), 1e-3))
for step in range(20):
    audio = torch.randn(4, 32, dtype=torch.bfloat16)
    if step == 6 and engine.global_rank == 1:
        audio = None
    loss = engine(torch.randn(4, 32, dtype=torch.bfloat16), audio).square().mean()
    engine.backward(loss)
    engine.step()
    print(f"rank {engine.global_rank} step {step}", flush=True)
