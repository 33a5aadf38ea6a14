"""FSDP: what touches a sharded model."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from denpex_kb.check.program import Program
from denpex_kb.check.shapes.ranks import receiver
from denpex_kb.check.shapes.registry import Hit, shape
from denpex_kb.read.source import Source

_FSDP1 = (
    "torch.distributed.fsdp.FullyShardedDataParallel",
    "torch.distributed.fsdp.fully_sharded_data_parallel.FullyShardedDataParallel",
)


def wrapped(source: Source) -> set[str]:
    """Return the names that hold an FSDP1 model in a file."""
    return {
        name
        for name, values in source.assigned.items()
        if any(isinstance(value, ast.Call) and source.name_of(value.func) in _FSDP1 for value in values)
    }


def sharded_in_place(source: Source) -> set[str]:
    """Return the names that go through FSDP2's fully_shard."""
    return {
        source.name_of(call.args[0])
        for call in source.calls_of(
            "torch.distributed.fsdp.fully_shard", "torch.distributed._composable.fsdp.fully_shard"
        )
        if call.args
    }


@shape("full-state-dict-on-rank0")
def full_state_dict_on_rank0(program: Program) -> Iterator[Hit]:
    """Find state_dict() of an FSDP model on rank 0 only."""
    source = program.main
    known = wrapped(source) | sharded_in_place(source)
    for call in source.calls_of("*.state_dict"):
        if receiver(source, call) in known and source.only_on_rank0(call) is not None:
            yield Hit(call.lineno, "state_dict() on rank 0 only")


@shape("sharded-forward-on-rank0")
def sharded_forward_on_rank0(program: Program) -> Iterator[Hit]:
    """Find a call of an FSDP model on rank 0 only."""
    source = program.main
    known = wrapped(source) | sharded_in_place(source)
    for name, call in source.calls:
        called = name in known or (name.endswith(".generate") and receiver(source, call) in known)
        if called and source.only_on_rank0(call) is not None and "summon_full_params" not in program.text:
            yield Hit(call.lineno, f"{name}() on rank 0 only")


@shape("fsdp1-clip")
def fsdp1_clip(program: Program) -> Iterator[Hit]:
    """Find torch's clip_grad_norm_ over the parameters of an FSDP1 model."""
    source = program.main
    if "NO_SHARD" in program.text:
        return
    for call in source.calls_of("torch.nn.utils.clip_grad_norm_", "torch.nn.utils.clip_grad.clip_grad_norm_"):
        over = call.args[0] if call.args else None
        if isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) and over.func.attr == "parameters":
            if source.name_of(over.func.value) in wrapped(source):
                yield Hit(call.lineno, "clip_grad_norm_ of torch.nn.utils")


@shape("fsdp-no-wrap-policy")
def fsdp_no_wrap_policy(program: Program) -> Iterator[Hit]:
    """Find the only FSDP call of a program, without an auto-wrap policy."""
    calls = list(program.calls(*_FSDP1))
    if len(calls) != 1 or program.mentions("enable_wrap", "wrap", "size_based_auto_wrap_policy", "apply", "ModuleList"):
        return
    source, call = calls[0]
    given = {item.arg for item in call.keywords}
    in_loop = any(isinstance(outer, ast.For | ast.comprehension | ast.ListComp) for outer in source.ancestors(call))
    if source is program.main and not given & {"auto_wrap_policy", None} and len(call.args) < 4 and not in_loop:
        if "NO_SHARD" not in program.text:
            yield Hit(call.lineno, "FSDP without auto_wrap_policy")
