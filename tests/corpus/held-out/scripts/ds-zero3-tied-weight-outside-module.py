# /// case
# env = "ds-0.18.4"
# run = "torchrun --nproc-per-node 1 train.py"
# form = "log"
# truth = "The loss uses the embedding's weight outside of its module's forward, where ZeRO-3 holds it partitioned (size 0)."
# expect = ["deepspeed-zero3-param-not-gathered-weight-2d"]
# evidence = "must be 2-D|size mismatch|mat2 must be|cannot be multiplied|RuntimeError"
# difficulty = "hard"
# ///
import deepspeed
import torch
import torch.nn.functional as F

deepspeed.init_distributed("gloo")
config = {"train_micro_batch_size_per_gpu": 4, "bf16": {"enabled": True},
          "zero_optimization": {"stage": 3, "stage3_param_persistence_threshold": 0}}


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(100, 32)
        self.mix = torch.nn.Linear(32, 32)

    def forward(self, ids):
        return self.mix(self.words(ids))


with deepspeed.zero.Init(config_dict_or_path=config):
    model = Model()
engine, *_ = deepspeed.initialize(model=model, config=config, optimizer=torch.optim.AdamW(model.parameters(), 1e-3))
hidden = engine(torch.randint(0, 100, (4, 8)))
logits = F.linear(hidden, model.words.weight)
engine.backward(logits.float().square().mean())
