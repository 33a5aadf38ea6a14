"""The order of things within a training step."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from denpex_kb.check.program import Program
from denpex_kb.check.shapes.registry import Hit, shape
from denpex_kb.read.source import Source


@shape("scheduler-before-optimizer")
def scheduler_before_optimizer(program: Program) -> Iterator[Hit]:
    """Find, in one block of a loop, a scheduler of torch that steps in front of the only optimizer."""
    source = program.main
    if program.mentions("Accelerator", "deepspeed"):
        return
    for node in source.nodes:
        if isinstance(node, ast.For | ast.While):
            yield from _in_block(source, node.body)


def _in_block(source: Source, block: list[ast.stmt]) -> Iterator[Hit]:
    steps: list[tuple[str, ast.Call]] = []
    for statement in block:
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "step":
            made = source.only_value(call.func.value)
            name = source.name_of(made.func) if isinstance(made, ast.Call) else ""
            kind = (
                "scheduler" if name.startswith("torch.optim.lr_scheduler.")
                else "optimizer" if name.startswith("torch.optim.")
                else "other"
            )  # fmt: skip
            steps.append((kind, call))
    kinds = [kind for kind, _ in steps]
    if kinds == ["scheduler", "optimizer"]:
        yield Hit(steps[0][1].lineno, "the scheduler's step comes first")


@shape("fp16-weights-with-scaler")
def fp16_weights_with_scaler(program: Program) -> Iterator[Hit]:
    """Find weights loaded in float16 and TrainingArguments(fp16=True), with nothing that would train other weights."""
    if program.contains(
        "peft",
        "PEFT",
        "Peft",
        "lora",
        "LoRA",
        "Lora",
        "load_in_",
        "uantization",
        "deepspeed",
        "fsdp",
        "FSDP",
        "requires_grad",
        ".float()",
    ):
        return
    source = program.main
    if not any(
        source.literal(source.keyword(call, "fp16")) is True
        for call in source.calls_of("transformers.*TrainingArguments")
    ):
        return
    for call in source.calls_of("*.from_pretrained"):
        kind = source.keyword(call, "torch_dtype") or source.keyword(call, "dtype")
        half = kind is not None and source.literal(kind) in ("torch.float16", "torch.half", "float16")
        name = source.name_of(call.func)
        if half and name.startswith("transformers.") and "Model" in name:
            yield Hit(call.lineno, "weights in float16")
