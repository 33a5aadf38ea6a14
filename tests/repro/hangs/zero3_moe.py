# mypy: disable-error-code="import-not-found, no-untyped-call, no-untyped-def, attr-defined, misc"
"""ZeRO-3 over a tiny Mixtral whose ranks choose different experts from the second step on; CPU, gloo, two ranks.

With the argument `marked`, the MoE blocks are marked as leaf modules before `deepspeed.initialize`, and the run ends.
All gathered tensors have the same size: gloo aborts on a mismatch of sizes where NCCL hangs.
"""

import gc
import os
import sys

import deepspeed
import torch
import torch.distributed as dist
from deepspeed.utils import set_z3_leaf_modules
from transformers import MixtralConfig, MixtralForCausalLM
from transformers.models.mixtral.modeling_mixtral import MixtralSparseMoeBlock

gc.collect = lambda *_: 0  # DeepSpeed's memory report calls it at each line
sys.modules["deepspeed.comm.torch"].build_shm_op = lambda: None  # an op built in C++; gloo alone is enough
EXPERTS = 8
CONFIG = {
    "train_micro_batch_size_per_gpu": 1,
    "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "torch_adam": True}},
    "zero_optimization": {
        "stage": 3,
        "stage3_param_persistence_threshold": 1000,
        "stage3_prefetch_bucket_size": 5000,
        "overlap_comm": False,
    },
}


def main():
    deepspeed.init_distributed(dist_backend="gloo")
    rank = int(os.environ["RANK"])
    torch.manual_seed(0)
    model = MixtralForCausalLM(
        MixtralConfig(
            vocab_size=32, hidden_size=32, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=4, max_position_embeddings=64, num_local_experts=EXPERTS, num_experts_per_tok=2,
        )
    )  # fmt: skip
    if "marked" in sys.argv:
        set_z3_leaf_modules(model, [MixtralSparseMoeBlock])
    engine, *_ = deepspeed.initialize(model=model, config=CONFIG, model_parameters=model.parameters())
    step = 0

    def route(_module, _inputs, logits):
        """Send the tokens to all experts in the first step; then rank 0's to two of them only."""
        used = range(2 if step and rank == 0 else EXPERTS)
        chosen = torch.zeros_like(logits)
        for token in range(logits.shape[0]):
            chosen[token, used[2 * token % len(used)]] = 50.0
            chosen[token, used[(2 * token + 1) % len(used)]] = 49.0
        return logits * 1e-3 + chosen

    for name, module in engine.module.named_modules():
        if name.endswith(".gate"):
            module.register_forward_hook(route)
    generator = torch.Generator().manual_seed(100 + rank)
    for step in range(4):  # the hook reads it
        ids = torch.randint(0, 32, (1, 8), generator=generator)
        loss = engine(input_ids=ids, labels=ids).loss
        engine.backward(loss)
        engine.step()
        print(f"step {step} loss {loss.item():.4f}", flush=True)
    dist.barrier()
    print("training finished", flush=True)


if __name__ == "__main__":
    main()
