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


_FSDP2 = ("torch.distributed.fsdp.fully_shard", "torch.distributed._composable.fsdp.fully_shard")


def is_sharded(source: Source, name: str, call: ast.Call, kinds: tuple[str, ...] = (*_FSDP1, *_FSDP2)) -> bool:
    """Say whether a name holds an FSDP model where a call stands: wrapped above it in the same function, or globally.

    An attribute of `self` is taken to be what any method of the file makes it.
    """
    for wrapping in source.calls_of(*kinds):
        statement = source.parents.get(wrapping)
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        named = {source.name_of(target) for target in targets}
        if source.name_of(wrapping.func) in _FSDP2 and wrapping.args:
            named.add(source.name_of(wrapping.args[0]))
        if name not in named:
            continue
        place = source.function_of(wrapping)
        near = place is source.function_of(call) or place is source.tree
        if name.startswith("self.") or (near and wrapping.lineno < call.lineno):
            return True
    return False


@shape("full-state-dict-on-rank0")
def full_state_dict_on_rank0(program: Program) -> Iterator[Hit]:
    """Find state_dict() of an FSDP model on rank 0 only."""
    source = program.main
    for call in source.calls_of("*.state_dict"):
        if is_sharded(source, receiver(source, call), call) and source.only_on_rank0(call) is not None:
            yield Hit(call.lineno, "state_dict() on rank 0 only")


@shape("sharded-forward-on-rank0")
def sharded_forward_on_rank0(program: Program) -> Iterator[Hit]:
    """Find a call of an FSDP model on rank 0 only."""
    source = program.main
    if not source.calls_of(*_FSDP1, *_FSDP2):
        return
    for name, call in source.calls:
        model = receiver(source, call) if name.endswith(".generate") else name
        if (
            source.only_on_rank0(call) is not None
            and is_sharded(source, model, call)
            and not program.contains("summon_full_params")
        ):
            yield Hit(call.lineno, f"{name}() on rank 0 only")


@shape("fsdp1-clip")
def fsdp1_clip(program: Program) -> Iterator[Hit]:
    """Find torch's clip_grad_norm_ over the parameters of an FSDP1 model."""
    source = program.main
    if program.contains("NO_SHARD"):
        return
    for call in source.calls_of("torch.nn.utils.clip_grad_norm_", "torch.nn.utils.clip_grad.clip_grad_norm_"):
        over = call.args[0] if call.args else None
        if not (isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) and over.func.attr == "parameters"):
            continue
        if is_sharded(source, source.name_of(over.func.value), call, _FSDP1):
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
    bare = not given & {"auto_wrap_policy", None} and len(call.args) < 4 and not in_loop
    if source is program.main and bare and not program.contains("NO_SHARD"):
        yield Hit(call.lineno, "FSDP without auto_wrap_policy")
