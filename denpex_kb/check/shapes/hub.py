"""Hugging Face Trainer, TRL and Lightning: what their calls contradict."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from denpex_kb.check.program import Program
from denpex_kb.check.shapes.registry import Hit, shape
from denpex_kb.read.source import UNKNOWN, Source

_TRAINERS = ("transformers.Trainer", "transformers.Seq2SeqTrainer")


@shape("dpo-same-reference")
def dpo_same_reference(program: Program) -> Iterator[Hit]:
    """Find a preference trainer whose model and ref_model are one object."""
    source = program.main
    for call in source.calls_of("trl.DPOTrainer", "trl.KTOTrainer", "trl.OnlineDPOTrainer"):
        model = source.argument(call, 0) or source.keyword(call, "model")
        reference = source.argument(call, 1) if len(call.args) > 1 else source.keyword(call, "ref_model")
        if isinstance(model, ast.Name) and isinstance(reference, ast.Name) and model.id == reference.id:
            yield Hit(reference.lineno, f"ref_model is {model.id} itself")


@shape("metric-not-computed")
def metric_not_computed(program: Program) -> Iterator[Hit]:
    """Find metric_for_best_model other than the loss with a plain Trainer that has no compute_metrics."""
    source = program.main
    trainers = source.calls_of(*_TRAINERS)
    bare = [
        call
        for call in trainers
        if not any(item.arg in ("compute_metrics", None) for item in call.keywords)
        and source.name_of(call.func) in _TRAINERS
    ]
    if len(trainers) != 1 or not bare or program.mentions("evaluate", "evaluation_loop", "compute_metrics"):
        return
    for call in source.calls_of("transformers.*TrainingArguments"):
        metric = source.literal(source.keyword(call, "metric_for_best_model"))
        wants = source.literal(source.keyword(call, "load_best_model_at_end")) is True
        if (
            wants
            and isinstance(metric, str)
            and metric.removeprefix("eval_") not in ("loss", "runtime", "samples_per_second")
        ):
            yield Hit(source.keyword(call, "metric_for_best_model").lineno, f"nothing computes {metric}")  # type: ignore[union-attr]


@shape("stream-without-max-steps")
def stream_without_max_steps(program: Program) -> Iterator[Hit]:
    """Find a streamed dataset that goes to the Trainer, and arguments without max_steps."""
    source = program.main
    arguments = list(source.calls_of("transformers.*TrainingArguments"))
    if len(arguments) != 1 or any(item.arg in ("max_steps", None) for item in arguments[0].keywords):
        return
    if program.mentions("max_steps", "__len__", "from_list", "from_generator"):
        return
    for call in source.calls_of(*_TRAINERS):
        data = source.keyword(call, "train_dataset")
        if data is not None and _streamed(source, data):
            yield Hit(arguments[0].lineno, "no max_steps for a stream")


def _streamed(source: Source, node: ast.expr, depth: int = 0) -> bool:
    """Follow a dataset through .map, .filter, .shuffle and ["train"] to load_dataset(streaming=True)."""
    made = source.only_value(node)
    if depth > 8 or made is None:
        return False
    if isinstance(made, ast.Subscript):
        return _streamed(source, made.value, depth + 1)
    if isinstance(made, ast.Call):
        if source.name_of(made.func) == "datasets.load_dataset":
            return source.literal(source.keyword(made, "streaming")) is True
        if isinstance(made.func, ast.Attribute) and made.func.attr in (
            "map", "filter", "shuffle", "remove_columns", "with_format", "take", "skip", "select_columns",
        ):  # fmt: skip
            return _streamed(source, made.func.value, depth + 1)
    return False


@shape("monitor-not-logged")
def monitor_not_logged(program: Program) -> Iterator[Hit]:
    """Find a Lightning callback that monitors a metric which no self.log of the program names."""
    source = program.main
    logged: set[str] = set()
    modules = False
    for place, call in program.calls("*.log", "*.log_dict"):
        name = place.literal(call.args[0]) if call.args else UNKNOWN
        if not isinstance(name, str):
            return  # a name that is made at run time, or a whole dictionary
        logged.add(name)
        modules = modules or place.name_of(call.func) == "self.log"
    callbacks = [
        call
        for front in (
            "lightning.pytorch.callbacks.",
            "pytorch_lightning.callbacks.",
            "pytorch_lightning.callbacks.early_stopping.",
        )
        for call in source.calls_of(front + "ModelCheckpoint", front + "EarlyStopping")
    ]
    for call in callbacks if modules and not program.imported else ():
        monitor = source.literal(source.keyword(call, "monitor"))
        if isinstance(monitor, str) and not any(_variant(monitor, name) for name in (*logged, "step", "epoch")):
            yield Hit(call.lineno, f"nothing logs {monitor}")


def _variant(monitor: str, name: str) -> bool:
    return monitor in (name, f"{name}_step", f"{name}_epoch") or monitor.startswith(f"{name}/dataloader")
