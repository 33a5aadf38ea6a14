# /// case
# env = "ds-0.16.9"
# run = "torchrun --nproc-per-node 2 train.py; echo \"exit $?\""
# form = "log"
# truth = "Healthy ZeRO-2 run on CPUs: DeepSpeed's warnings about missing ops, CUDA_HOME and the accelerator; ends with exit 0."
# expect = ["NONE"]
# evidence = "exit 0"
# ///
import deepspeed
import torch
import torch.distributed as dist

deepspeed.init_distributed("gloo")
model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
config = {"train_micro_batch_size_per_gpu": 8, "gradient_accumulation_steps": 2, "zero_optimization": {"stage": 2},
          "steps_per_print": 5, "gradient_clipping": 1.0, "bf16": {"enabled": True}}
engine, *_ = deepspeed.initialize(model=model, config=config, optimizer=torch.optim.AdamW(model.parameters(), 1e-3))
for step in range(20):
    loss = engine(torch.randn(8, 32, dtype=torch.bfloat16)).float().square().mean()
    engine.backward(loss)
    engine.step()
engine.save_checkpoint("ckpt")
print("done, final loss", loss.item())
dist.destroy_process_group()
