"""DeepSpeed engines in code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from denpex_kb.check.program import Program
from denpex_kb.check.shapes.ranks import engines, receiver
from denpex_kb.check.shapes.registry import Hit, shape
from denpex_kb.read.source import UNKNOWN, Source

_LEAF = (
    "*.set_z3_leaf_modules",
    "*.set_z3_leaf_module",
    "*.set_z3_leaf_modules_by_name",
    "*.set_z3_leaf_modules_by_suffix",
)
_BATCH = ("train_batch_size", "train_micro_batch_size_per_gpu")


def _initialize(program: Program) -> Iterator[ast.Call]:
    """Go through the calls of deepspeed.initialize whose arguments are all to be seen."""
    for call in program.main.calls_of("deepspeed.initialize"):
        if not call.args and all(item.arg is not None for item in call.keywords):
            yield call


def _made_by(source: Source, node: ast.expr, call: ast.Call) -> str:
    """Return what makes the object that a name holds at a call, which often gives the name back to its own result."""
    if not isinstance(node, ast.Name):
        made: ast.expr | None = node
    else:
        values = source.assigned.get(node.id, [])
        before = [value for value in values if value is not None and value.lineno < call.lineno]
        made = before[0] if len(before) == 1 and values.count(None) <= 1 else None
    return source.name_of(made.func) if isinstance(made, ast.Call) else ""


@shape("torch-optimizer-given")
def torch_optimizer_given(program: Program) -> Iterator[Hit]:
    """Find deepspeed.initialize(optimizer=<an optimizer of torch.optim>)."""
    source = program.main
    for call in _initialize(program):
        given = source.keyword(call, "optimizer")
        made = _made_by(source, given, call) if given is not None else ""
        if given is not None and made.startswith("torch.optim."):
            yield Hit(given.lineno, f"optimizer is {made}")


@shape("no-optimizer-given")
def no_optimizer_given(program: Program) -> Iterator[Hit]:
    """Find deepspeed.initialize without an optimizer, for a model that is trained."""
    source = program.main
    calls = list(_initialize(program))
    for call in calls:
        given = source.keyword(call, "optimizer")
        none = given is None or source.literal(given) is None
        if none and len(calls) == 1 and bool(source.calls_of("*.backward")):
            yield Hit(call.lineno, "no optimizer")


@shape("config-without-batch")
def config_without_batch(program: Program) -> Iterator[Hit]:
    """Find a dictionary given to deepspeed.initialize that holds no batch size as a number."""
    source = program.main
    for call in _initialize(program):
        config = source.literal(source.keyword(call, "config") or source.keyword(call, "config_params"))
        if not isinstance(config, dict) or program.mentions("TrainingArguments", "Accelerator"):
            continue
        written = any(program.contains(f'["{key}"]') or program.contains(f"['{key}']") for key in _BATCH)
        if not written and not any(isinstance(_at(config, key), int) for key in _BATCH):
            yield Hit(call.lineno, "the config has no batch size")


def _at(config: dict[Any, Any], key: str) -> Any:
    return config.get(key)


@shape("moe-groups-missing")
def moe_groups_missing(program: Program) -> Iterator[Hit]:
    """Find DeepSpeed MoE layers and an optimizer of one's own over model.parameters()."""
    source = program.main
    if not any(True for _ in program.calls("deepspeed.moe.layer.MoE")):
        return
    if program.contains("moe_groups", "moe_param_groups", "is_moe_param", "split_params"):
        return
    for call in _initialize(program):
        made = source.only_value(source.keyword(call, "optimizer"))
        over = made.args[0] if isinstance(made, ast.Call) and made.args else None
        if made is not None and isinstance(over, ast.Call) and source.name_of(over.func).endswith(".parameters"):
            yield Hit(made.lineno, "one parameter group for experts and the rest")


@shape("leaf-too-late")
def leaf_too_late(program: Program) -> Iterator[Hit]:
    """Find leaf modules set behind deepspeed.initialize (or accelerator.prepare) in the same function."""
    source = program.main
    built = list(source.calls_of("deepspeed.initialize"))
    marks = list(source.calls_of(*_LEAF))
    for call in marks:
        same = [item for item in built if source.function_of(item) is source.function_of(call)]
        alone = all(source.function_of(item) is source.function_of(call) for item in marks)
        if same and alone and all(item.lineno < call.lineno for item in same) and call is marks[0]:
            yield Hit(call.lineno, "set after deepspeed.initialize")


@shape("tag-per-rank")
def tag_per_rank(program: Program) -> Iterator[Hit]:
    """Find a checkpoint tag made from a clock, a random id or the rank."""
    source = program.main
    known = engines(source)
    for call in source.calls_of("*.save_checkpoint"):
        tag = source.keyword(call, "tag") or (source.argument(call, 1) if len(call.args) > 1 else None)
        if tag is None or receiver(source, call) not in known:
            continue
        tag = source.only_value(tag) or tag
        for node in ast.walk(tag):
            name = source.name_of(node.func) if isinstance(node, ast.Call) else ""
            clock = name in ("time.time", "datetime.datetime.now", "datetime.now", "uuid.uuid4", "time.strftime")
            if clock or (isinstance(node, ast.Name | ast.Attribute) and source.is_rank(node)):
                yield Hit(call.lineno, "each rank makes a tag of its own")
                break


@shape("model-before-arguments")
def model_before_arguments(program: Program) -> Iterator[Hit]:
    """Find from_pretrained in front of TrainingArguments(deepspeed=...) in the same block."""
    source = program.main
    if program.mentions("HfDeepSpeedConfig", "deepspeed.zero.Init", "HfArgumentParser"):
        return
    for arguments in source.calls_of("transformers.*TrainingArguments"):
        if (
            source.keyword(arguments, "deepspeed") is None
            or source.literal(source.keyword(arguments, "deepspeed")) is None
        ):
            continue
        block = _block(source, arguments)
        for call in source.calls_of("transformers.*.from_pretrained"):
            if "ForCausalLM" not in source.name_of(call.func) and "AutoModel" not in source.name_of(call.func):
                continue
            if call.lineno < arguments.lineno and _block(source, call) is block:
                yield Hit(call.lineno, "loaded before TrainingArguments exist")


def _block(source: Source, node: ast.AST) -> ast.AST | None:
    """Return the statement list's owner that a node's statement stands in."""
    inner: ast.AST = node
    for outer in source.ancestors(node):
        if isinstance(inner, ast.stmt):
            return outer
        inner = outer
    return None


@shape("generate-on-engine")
def generate_on_engine(program: Program) -> Iterator[Hit]:
    """Find generate() of an engine (or its module) without synced_gpus, where transformers does not know of ZeRO-3."""
    source = program.main
    known = engines(source)
    if program.mentions("HfDeepSpeedConfig", "TrainingArguments", "GatheredParameters", "hybrid_engine", "synced_gpus"):
        return
    for call in source.calls_of("*.generate"):
        name = receiver(source, call).removesuffix(".module")
        if name in known and all(item.arg is not None for item in call.keywords):
            yield Hit(call.lineno, "generate() without synced_gpus=True")


@shape("plain-save-of-engine")
def plain_save_of_engine(program: Program) -> Iterator[Hit]:
    """Find the bare state_dict or save_pretrained of an engine's module, without any gather in the program."""
    source = program.main
    known = engines(source)
    if program.contains(
        "GatheredParameters",
        "_zero3_consolidated",
        "zero_to_fp32",
        "get_fp32_state_dict",
        "save_16bit_model",
    ):
        return
    for call in source.calls_of("*.state_dict", "*.save_pretrained"):
        name = receiver(source, call)
        if name.removesuffix(".module") in known and source.keyword(call, "state_dict") is None:
            yield Hit(call.lineno, f"{name}.{call.func.attr}() holds empty tensors under ZeRO-3")  # type: ignore[attr-defined]


@shape("engine-no-sync")
def engine_no_sync(program: Program) -> Iterator[Hit]:
    """Find no_sync() of an engine."""
    source = program.main
    for call in source.calls_of("*.no_sync"):
        if receiver(source, call) in engines(source):
            yield Hit(call.lineno, "no_sync() of a DeepSpeed engine")


@shape("direct-backward")
def direct_backward(program: Program) -> Iterator[Hit]:
    """Find loss.backward() in a file that has an engine and never calls engine.backward()."""
    source = program.main
    known = engines(source)
    calls = list(source.calls_of("*.backward"))
    if len(known) != 1 or any(receiver(source, call) in known for call in calls):
        return
    for call in calls:
        if not call.args and receiver(source, call).endswith("loss") and not program.contains("scale("):
            yield Hit(call.lineno, "the engine's backward() is passed over")


@shape("gathered-write")
def gathered_write(program: Program) -> Iterator[Hit]:
    """Find a change in place of a gathered parameter, where GatheredParameters names no modifier_rank."""
    source = program.main
    for node in source.nodes:
        if not isinstance(node, ast.With):
            continue
        for item in node.items:
            call = item.context_expr
            if not (isinstance(call, ast.Call) and source.name_of(call.func) == "deepspeed.zero.GatheredParameters"):
                continue
            if len(call.args) != 1 or any(
                given.arg in ("modifier_rank", "fwd_module", None) for given in call.keywords
            ):
                continue
            line = _writes(
                source,
                node.body,
                {source.name_of(part) for part in ast.walk(call.args[0]) if isinstance(part, ast.Name | ast.Attribute)},
            )
            if line is not None:
                yield Hit(line, "changed without modifier_rank")


def _writes(source: Source, body: list[ast.stmt], names: set[str]) -> int | None:
    for statement in body:
        for node in ast.walk(statement):
            target: ast.expr | None = None
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                name = node.func.attr
                if name.endswith("_") and not name.endswith("__") and name != "requires_grad_":
                    initialiser = source.name_of(node.func).startswith("torch.nn.init.")
                    target = (node.args[0] if node.args else None) if initialiser else node.func.value
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
                target = node.targets[0].value
            if target is not None and source.name_of(target).removesuffix(".data") in names:
                return int(node.lineno)  # type: ignore[attr-defined]
    return None


@shape("real-optimizer-prepared")
def real_optimizer_prepared(program: Program) -> Iterator[Hit]:
    """Find an optimizer of torch.optim that goes through accelerator.prepare, in a program without placeholders."""
    source = program.main
    if program.mentions("DummyOptim", "DummyScheduler"):
        return
    for call in source.calls_of("*.prepare"):
        if not receiver(source, call).endswith("accelerator"):
            continue
        for item in call.args:
            values = source.assigned.get(source.name_of(item), [])
            made = [
                value
                for value in values
                if isinstance(value, ast.Call) and source.name_of(value.func).startswith("torch.optim.")
            ]
            if made and "lr_scheduler" not in source.name_of(made[0].func) and source.literal(item) is UNKNOWN:
                yield Hit(made[0].lineno, f"{source.name_of(made[0].func)} beside the config's optimizer")
