# mypy: disable-error-code="import-not-found, no-untyped-call"
"""Apply one variant of the central entry's fix to a tiny model under ZeRO-3, and say what is marked; one CPU process.

Arguments: a JSON object with `how` (code | config | accelerate | variable), `text` (the variant's code), `family`.
Prints one line of JSON: the blocks, the leaves, the parameters marked before the hooks were set, the loss of one step.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

os.environ.update(
    DS_ACCELERATOR="cpu", RANK="0", LOCAL_RANK="0", WORLD_SIZE="1", LOCAL_SIZE="1", MASTER_ADDR="127.0.0.1",
    TOKENIZERS_PARALLELISM="false",
)  # fmt: skip
os.environ.setdefault("MASTER_PORT", str(20000 + os.getpid() % 20000))

SIZES = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 64}
CONFIG: dict[str, Any] = {
    "train_micro_batch_size_per_gpu": 1,
    "zero_optimization": {"stage": 3},
    "optimizer": {"type": "AdamW", "params": {"lr": 1e-5, "torch_adam": True}},
    "zero_force_ds_cpu_optimizer": False,
}


def make(family: str) -> tuple[Any, str]:
    """Build a tiny model of a family; returns it and the name of its block."""
    from transformers import AutoModelForCausalLM
    from transformers.models.deepseek_v3 import DeepseekV3Config
    from transformers.models.mixtral import MixtralConfig
    from transformers.models.qwen3_moe import Qwen3MoeConfig
    from transformers.models.switch_transformers import SwitchTransformersConfig

    if family == "switch_transformers":
        from transformers import SwitchTransformersForConditionalGeneration

        switch = SwitchTransformersConfig(
            d_model=16, d_kv=8, d_ff=16, num_layers=2, num_decoder_layers=2, num_heads=2, num_experts=4, vocab_size=64,
            num_sparse_encoder_layers=1, num_sparse_decoder_layers=1, expert_capacity=8, decoder_start_token_id=0,
        )  # fmt: skip
        return SwitchTransformersForConditionalGeneration(switch), "SwitchTransformersLayerFF"
    config, block = {
        "mixtral": (
            lambda: MixtralConfig(num_key_value_heads=2, num_local_experts=4, **SIZES),
            "MixtralSparseMoeBlock",
        ),
        "qwen3_moe": (
            lambda: Qwen3MoeConfig(num_key_value_heads=2, head_dim=8, num_experts=4, num_experts_per_tok=2,
                                   moe_intermediate_size=16, **SIZES),
            "Qwen3MoeSparseMoeBlock",
        ),
        "deepseek_v3": (
            lambda: DeepseekV3Config(num_key_value_heads=2, moe_intermediate_size=16, n_routed_experts=4, n_group=1,
                                     topk_group=1, num_experts_per_tok=2, first_k_dense_replace=0, kv_lora_rank=8,
                                     q_lora_rank=8, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=8, **SIZES),
            "DeepseekV3MoE",
        ),
    }[family]  # fmt: skip
    return AutoModelForCausalLM.from_config(config()), block


def merged(base: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Merge one config into another."""
    joined = dict(base)
    for key, value in more.items():
        joined[key] = merged(joined.get(key, {}), value) if isinstance(value, dict) else value
    return joined


def engine_of(how: str, text: str, model: Any) -> Any:
    """Apply the variant and build the engine."""
    import deepspeed

    backend: Any = sys.modules["deepspeed.comm.torch"]  # the package's attribute of that name is torch itself
    backend.build_shm_op = lambda: None  # collectives in shared memory are compiled for minutes, and not under test
    deepspeed.init_distributed(dist_backend="gloo")
    config = CONFIG
    if how == "code":
        exec(compile(text, "variant", "exec"), {"model": model})  # the entry's own code, as it stands
    elif how == "config":
        config = merged(CONFIG, json.loads(text))
    elif how == "variable":
        name, _, value = text.removeprefix("export ").partition("=")
        os.environ[name] = value.strip()
    if how in ("accelerate", "variable"):
        # what Accelerator.prepare does before it builds the engine; prepare itself wants an accelerator
        from accelerate import DeepSpeedPlugin

        given = {}
        if how == "accelerate":
            import yaml

            names = yaml.safe_load(text)["deepspeed_config"]["deepspeed_moe_layer_cls_names"]
            given = {"transformer_moe_cls_names": names}
        DeepSpeedPlugin(hf_ds_config=dict(CONFIG), **given).set_moe_leaf_modules(model)
    return deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)[0]


def main() -> None:
    """Run one case."""
    import torch

    case = json.loads(sys.argv[1])
    model, block = make(case["family"])
    engine = engine_of(case["how"], case.get("text", ""), model)
    from deepspeed.utils import get_z3_leaf_modules

    module = engine.module
    blocks = [item for item in module.modules() if type(item).__name__ == block]
    parameters = [parameter for item in blocks for parameter in item.parameters()]
    try:
        leaves = len(get_z3_leaf_modules(module))
    except ValueError:  # older versions raise where nothing is marked
        leaves = 0
    ids = torch.randint(0, 64, (1, 4))
    loss = engine(input_ids=ids, labels=ids).loss
    engine.backward(loss)
    engine.step()
    told = {
        "blocks": len(blocks),
        "leaves": leaves,
        "parameters": len(parameters),
        "marked": sum(hasattr(parameter, "ds_z3_leaf_module") for parameter in parameters),
        "loss": float(loss.detach()),
    }
    sys.stdout.write("RESULT " + json.dumps(told) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
