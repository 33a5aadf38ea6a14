# /// case
# env = "ds-0.16.9"
# run = "torchrun --nproc-per-node 2 train.py > /dev/null 2>&1; rm ckpt/global_step3/*zero_pp_rank_1*; cd ckpt; python zero_to_fp32.py . ../merged"
# form = "log"
# truth = "One of the two optimizer shard files was not copied; zero_to_fp32 finds fewer files than ranks."
# expect = ["deepspeed-zero-to-fp32-missing-shards"]
# evidence = "Expected 2 of|Expected 1 of|Expected"
# ///
import deepspeed
import torch

deepspeed.init_distributed("gloo")
model = torch.nn.Linear(16, 16)
config = {"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 2}}
engine, *_ = deepspeed.initialize(model=model, config=config, optimizer=torch.optim.AdamW(model.parameters(), 1e-3))
for step in range(3):
    loss = engine(torch.randn(4, 16)).square().mean()
    engine.backward(loss)
    engine.step()
engine.save_checkpoint("ckpt", tag="global_step3")
