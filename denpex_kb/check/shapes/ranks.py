"""Collectives that only some ranks reach."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from denpex_kb.check.program import Program
from denpex_kb.check.shapes.registry import Hit, shape
from denpex_kb.read.source import Source, matches

BARRIERS = ("torch.distributed.barrier", "deepspeed.comm.barrier", "*.wait_for_everyone")
COLLECTIVES = tuple(
    f"torch.distributed.{name}"
    for name in (
        "all_reduce", "all_gather", "all_gather_object", "all_gather_into_tensor", "broadcast",
        "broadcast_object_list", "reduce", "gather", "gather_object", "scatter", "scatter_object_list",
        "reduce_scatter", "reduce_scatter_tensor", "all_to_all", "all_to_all_single",
    )
)  # fmt: skip


def matched_elsewhere(source: Source, call: ast.Call, names: tuple[str, ...]) -> bool:
    """Say whether the same kind of call stands in the same function where the other ranks come to."""
    function = source.function_of(call)
    for other in source.calls_of(*names):
        if other is call or source.function_of(other) is not function:
            continue
        elsewhere = source.under_rank_test(other) is not None or _on_others(source, other)
        if elsewhere and source.only_on_rank0(other) is None:
            return True  # under another condition on the rank: the two may be each other's match
    return False


def _on_others(source: Source, node: ast.AST) -> bool:
    """Say whether a node stands where all ranks but rank 0 come to."""
    inner = node
    for outer in source.ancestors(node):
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            return False
        if isinstance(outer, ast.If):
            sense = source.rank_test(outer.test)
            if (sense is False and inner in outer.body) or (sense is True and inner in outer.orelse):
                return True
        inner = outer
    return False


def _of_all_ranks(source: Source, call: ast.Call) -> bool:
    return source.keyword(call, "group") is None and source.keyword(call, "process_group") is None


@shape("barrier-on-rank0")
def barrier_on_rank0(program: Program) -> Iterator[Hit]:
    """Find a barrier of all ranks behind a condition that only rank 0 fulfils."""
    source = program.main
    for name, call in source.calls:
        if not any(matches(name, wanted) for wanted in BARRIERS) or call.args or not _of_all_ranks(source, call):
            continue
        if source.only_on_rank0(call) is not None and not matched_elsewhere(source, call, BARRIERS):
            yield Hit(call.lineno, f"{name}() on rank 0 only")


@shape("collective-on-rank0")
def collective_on_rank0(program: Program) -> Iterator[Hit]:
    """Find a collective of all ranks behind a condition that only rank 0 fulfils."""
    source = program.main
    for name, call in source.calls:
        if name not in COLLECTIVES or not _of_all_ranks(source, call) or len(call.args) > 2:
            continue
        if source.only_on_rank0(call) is not None and not matched_elsewhere(source, call, COLLECTIVES):
            yield Hit(call.lineno, f"{name}() on rank 0 only")


@shape("new-group-on-some-ranks")
def new_group_on_some_ranks(program: Program) -> Iterator[Hit]:
    """Find new_group behind a comparison with the rank, without a new_group for the others."""
    source = program.main
    names = ("torch.distributed.new_group",)
    for call in source.calls_of(*names):
        if source.keyword(call, "use_local_synchronization") is not None:
            continue
        guard = source.under_rank_test(call)
        others = [other for other in source.calls_of(*names) if other is not call]
        if guard is not None and not any(source.function_of(other) is source.function_of(call) for other in others):
            yield Hit(call.lineno, "new_group() behind a comparison with the rank")


@shape("init-twice")
def init_twice(program: Program) -> Iterator[Hit]:
    """Find two init_process_group in one block, the first of which is not undone."""
    source = program.main
    blocks: dict[ast.AST, list[ast.Call]] = {}
    for call in source.calls_of("torch.distributed.init_process_group"):
        statement = source.parents[call]
        if isinstance(statement, ast.Expr):
            blocks.setdefault(source.parents[statement], []).append(call)
    for block, calls in blocks.items():
        if isinstance(block, ast.If | ast.Try):  # the two may stand in its two branches
            continue
        if len(calls) > 1 and not program.mentions("destroy_process_group"):
            yield Hit(calls[1].lineno, "init_process_group() a second time")


def engines(source: Source) -> set[str]:
    """Return the names that hold a DeepSpeed engine in a file."""
    if not source.calls_of("deepspeed.initialize"):
        return set()
    return {
        name
        for name, values in source.assigned.items()
        for value in values
        if isinstance(value, ast.Call) and source.name_of(value.func) == "deepspeed.initialize"
    }


def receiver(source: Source, call: ast.Call) -> str:
    """Return the name of the object whose method is called."""
    return source.name_of(call.func.value) if isinstance(call.func, ast.Attribute) else ""


@shape("engine-save-on-rank0")
def engine_save_on_rank0(program: Program) -> Iterator[Hit]:
    """Find save_checkpoint of a DeepSpeed engine on rank 0 only."""
    source = program.main
    known = engines(source)
    for call in source.calls_of("*.save_checkpoint", "*.save_16bit_model"):
        name = receiver(source, call)
        engine = name in known or (name.endswith("model_engine") and program.contains("deepspeed"))
        if engine and source.only_on_rank0(call) is not None:
            yield Hit(call.lineno, f"{name}.save_checkpoint() on rank 0 only")


@shape("accelerate-save-on-rank0")
def accelerate_save_on_rank0(program: Program) -> Iterator[Hit]:
    """Find Accelerate's collective saves on the main process only."""
    source = program.main
    for call in source.calls_of("*.save_state", "*.get_state_dict"):
        if receiver(source, call).endswith("accelerator") and source.only_on_rank0(call) is not None:
            yield Hit(call.lineno, "save_state() or get_state_dict() on the main process only")


@shape("exception-swallowed")
def exception_swallowed(program: Program) -> Iterator[Hit]:
    """Find a training step in try/except inside a loop, where the handler goes on as if nothing had happened."""
    source = program.main
    if not program.mentions("DistributedDataParallel", "FullyShardedDataParallel", "fully_shard", "deepspeed"):
        return
    for node in source.nodes:
        if not isinstance(node, ast.Try) or not isinstance(source.parents.get(node), ast.For | ast.While):
            continue
        inside = [inner for statement in node.body for inner in ast.walk(statement) if isinstance(inner, ast.Call)]
        if not any(isinstance(inner.func, ast.Attribute) and inner.func.attr == "backward" for inner in inside):
            continue
        for handler in node.handlers:
            if _goes_on(source, handler):
                yield Hit(handler.lineno, "the step's exception is caught and the loop goes on")


def _goes_on(source: Source, handler: ast.ExceptHandler) -> bool:
    caught = [source.name_of(item) for item in _types(handler.type)]
    wide = handler.type is None or any(
        name in ("Exception", "BaseException", "RuntimeError", "torch.cuda.OutOfMemoryError", "torch.OutOfMemoryError")
        for name in caught
    )
    ends = isinstance(handler.body[-1], ast.Continue | ast.Pass)
    inside = [inner for statement in handler.body for inner in ast.walk(statement)]
    harmless = not any(isinstance(inner, ast.Raise | ast.Break | ast.Return) for inner in inside)
    names = [source.name_of(inner.func) for inner in inside if isinstance(inner, ast.Call)]
    agreed = any(name.startswith("torch.distributed") or "exit" in name for name in names)
    return wide and ends and harmless and not agreed


def _types(node: ast.expr | None) -> list[ast.expr]:
    return list(node.elts) if isinstance(node, ast.Tuple) else [node] if node is not None else []
