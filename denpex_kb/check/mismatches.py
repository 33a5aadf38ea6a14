"""Settings of a set-up that contradict each other: `setup.mismatch` of kb/facts, each value found by one function."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from denpex_kb.check.pieces import Launched, Settings
from denpex_kb.check.setups import Setup
from denpex_kb.model.facts import Fact
from denpex_kb.model.kb import Kb
from denpex_kb.read.settings import at

Mismatch = Callable[[Setup, Kb], Iterator[Fact]]
MISMATCHES: dict[str, Mismatch] = {}


def mismatch(name: str) -> Callable[[Mismatch], Mismatch]:
    """Register the function that finds a value of `setup.mismatch`."""

    def register(function: Mismatch) -> Mismatch:
        MISMATCHES[name] = function
        return function

    return register


def _fact(name: str, settings: Settings, key: str, text: str) -> Fact:
    return Fact("setup.mismatch", name, "derived", settings.file, settings.line_of(key), None, text)


def number(value: Any) -> int | None:
    """Return a whole number that is written as one."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, str) and value.isdigit() else None


def world_size(setup: Setup) -> int | None:
    """Return the number of ranks that the launch starts; None where it does not say."""
    launched = setup.launched
    if launched is None:
        return None
    options = launched.launch.options
    if launched.launch.launcher == "accelerate":
        return number(options.get("num_processes")) or _from_accelerate(setup)
    if launched.launch.launcher == "torchrun":
        return _product(number(options.get("nproc_per_node")), number(options.get("nnodes", "1")))
    if launched.launch.launcher == "deepspeed" and "hostfile" not in options and "include" not in options:
        return _product(number(options.get("num_gpus")), number(options.get("num_nodes", "1")))
    return None


def _from_accelerate(setup: Setup) -> int | None:
    found = {number(item.data.get("num_processes")) for item in setup.of("accelerate") if item.path is not None}
    return found.pop() if len(found) == 1 else None


def _product(first: int | None, second: int | None) -> int | None:
    return first * second if first and second else None


_PARALLEL = ("tensor", "pipeline", "sequence", "context", "expert", "tp_size", "pp_size", "sp_size", "mpu", "autotp")


def _model_parallel(setup: Setup) -> bool:
    """Say whether ranks may share a batch, so that the data-parallel size is not the number of ranks."""
    keys = [key for item in setup.settings for key in item.data if item.kind in ("trainer", "deepspeed", "launch")]
    named = any(word in str(key) for key in keys for word in _PARALLEL)
    program = setup.program
    coded = program is not None and program.contains("PipelineModule", "mpu", "tensor_parallel", "sequence_parallel")
    return named or coded


def _batch(settings: Settings) -> tuple[int, int, int] | None:
    numbers = [
        number(settings.data.get(key))
        for key in ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
    ]
    return (numbers[0], numbers[1], numbers[2]) if None not in numbers and 0 not in numbers else None  # type: ignore[return-value]


@mismatch("batch-product")
def batch_product(setup: Setup, kb: Kb) -> Iterator[Fact]:  # noqa: ARG001 (all have this shape)
    """Find train_batch_size that is not micro batch times accumulation times ranks."""
    ranks = world_size(setup)
    if ranks is None or _model_parallel(setup):
        return
    for settings in setup.of("deepspeed"):
        batch = _batch(settings)
        if batch is not None and batch[0] != batch[1] * batch[2] * ranks and batch[0] % (batch[1] * batch[2]) == 0:
            text = f"{batch[0]} is not {batch[1]} x {batch[2]} x {ranks} ranks = {batch[1] * batch[2] * ranks}"
            yield _fact("batch-product", settings, "train_batch_size", text)


@mismatch("batch-not-divisible")
def batch_not_divisible(setup: Setup, kb: Kb) -> Iterator[Fact]:  # noqa: ARG001
    """Find train_batch_size that no number of ranks makes right."""
    for settings in setup.of("deepspeed"):
        batch = _batch(settings)
        if batch is not None and batch[0] % (batch[1] * batch[2]):
            text = f"{batch[0]} is no multiple of {batch[1]} x {batch[2]}, so no number of ranks fits"
            yield _fact("batch-not-divisible", settings, "train_batch_size", text)


_PAIRS = (
    ("train_micro_batch_size_per_gpu", "per_device_train_batch_size"),
    ("gradient_accumulation_steps", "gradient_accumulation_steps"),
    ("gradient_clipping", "max_grad_norm"),
    ("optimizer.params.lr", "learning_rate"),
    ("optimizer.params.weight_decay", "weight_decay"),
)


@mismatch("deepspeed-vs-arguments")
def deepspeed_vs_arguments(setup: Setup, kb: Kb) -> Iterator[Fact]:  # noqa: ARG001
    """Find a number in the DeepSpeed config that differs from the same training argument."""
    trainer = {fact.value for fact in setup.facts if fact.name == "trainer"}
    if not trainer & {"hf-trainer", "trl", "llama-factory"}:
        return
    files = [item for item in setup.of("deepspeed") if item.path is not None]
    arguments = setup.of("trainer")
    if len(files) != 1 or len(arguments) != 1:
        return
    for key, argument in _PAIRS:
        ours, theirs = _float(at(files[0].data, key)), _float(arguments[0].data.get(argument))
        if ours is not None and theirs is not None and abs(ours - theirs) > 1e-12:
            where = f"{arguments[0].file}:{arguments[0].line_of(argument)}"
            text = f"{key} is {ours:g} here, and {argument} is {theirs:g} ({where})"
            yield _fact("deepspeed-vs-arguments", files[0], key, text)


def _float(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except ValueError:
        return None


def _strategies(settings: Settings) -> tuple[str, str] | None:
    """Return the strategies of saving and evaluation, the Trainer's defaults where none is given; None if unknown."""
    data = settings.data
    best = data.get("load_best_model_at_end")
    if best is not True or not settings.complete or "base_model" in data:
        return None
    save = data.get("save_strategy", "steps")
    evaluate = data.get("eval_strategy", data.get("evaluation_strategy", "no"))
    if evaluate is False:
        evaluate = "no"  # YAML's own reading of a bare no
    if not isinstance(save, str) or not isinstance(evaluate, str):
        return None
    return save.lower(), evaluate.lower()


@mismatch("save-and-eval-strategy")
def save_and_eval_strategy(setup: Setup, kb: Kb) -> Iterator[Fact]:  # noqa: ARG001
    """Find load_best_model_at_end with different strategies for saving and evaluation."""
    for settings in setup.of("trainer"):
        both = _strategies(settings)
        if both is not None and both[0] != both[1] and both[0] != "best":
            text = f"save_strategy is {both[0]}, eval_strategy is {both[1]}"
            yield _fact("save-and-eval-strategy", settings, "load_best_model_at_end", text)


@mismatch("save-not-multiple-of-eval")
def save_not_multiple_of_eval(setup: Setup, kb: Kb) -> Iterator[Fact]:  # noqa: ARG001
    """Find save_steps that are no multiple of eval_steps, with load_best_model_at_end."""
    for settings in setup.of("trainer"):
        save, evaluate = number(settings.data.get("save_steps")), number(settings.data.get("eval_steps"))
        both = _strategies(settings) == ("steps", "steps") and save and evaluate
        if both and save and evaluate and save > 1 and evaluate > 1 and save % evaluate:
            text = f"save_steps {save} is no multiple of eval_steps {evaluate}"
            yield _fact("save-not-multiple-of-eval", settings, "save_steps", text)


@mismatch("more-ranks-than-gpus")
def more_ranks_than_gpus(setup: Setup, kb: Kb) -> Iterator[Fact]:  # noqa: ARG001
    """Find more processes on a node than the job asks GPUs for there (or CUDA_VISIBLE_DEVICES names)."""
    launched = setup.launched
    if launched is None or launched.launch.launcher not in ("torchrun", "accelerate", "deepspeed"):
        return
    ranks = _per_node(launched)
    limit = _gpus(setup, launched)
    if ranks is None or limit is None or ranks <= limit[0]:
        return
    yield Fact(
        "setup.mismatch", "more-ranks-than-gpus", "derived", setup.name, launched.launch.line, None,
        f"{ranks} processes per node, {limit[0]} GPUs ({limit[1]})",
    )  # fmt: skip


def _per_node(launched: Launched) -> int | None:
    options = launched.launch.options
    if launched.launch.launcher == "accelerate":
        ranks, nodes = number(options.get("num_processes")), number(options.get("num_machines", "1"))
        return ranks // nodes if ranks and nodes else None
    return number(options.get("nproc_per_node") or options.get("num_gpus"))


def _gpus(setup: Setup, launched: Launched) -> tuple[int, str] | None:
    visible = (
        launched.launch.variables.get("CUDA_VISIBLE_DEVICES")
        or launched.script.exported.get("CUDA_VISIBLE_DEVICES", ("", 0))[0]
    )
    if visible and all(part.strip().isdigit() for part in visible.split(",")):
        return len(visible.split(",")), f"CUDA_VISIBLE_DEVICES={visible}"
    found = {(int(fact.value), fact.text) for fact in setup.facts if fact.name == "node.gpus"}
    return found.pop() if len(found) == 1 else None


def _single(setup: Setup, name: str) -> int | None:
    found = {fact.value for fact in setup.facts if fact.name == name}
    value = found.pop() if len(found) == 1 else None
    return value if isinstance(value, int) else None


@mismatch("slurm-tasks-and-devices")
def slurm_tasks_and_devices(setup: Setup, kb: Kb) -> Iterator[Fact]:  # noqa: ARG001
    """Find a Lightning Trainer with other devices than Slurm's tasks per node."""
    yield from _lightning(setup, "slurm.tasks", "devices", "slurm-tasks-and-devices", "--ntasks-per-node")


@mismatch("slurm-nodes")
def slurm_nodes(setup: Setup, kb: Kb) -> Iterator[Fact]:  # noqa: ARG001
    """Find a Lightning Trainer with another num_nodes than Slurm's nodes."""
    yield from _lightning(setup, "slurm.nodes", "num_nodes", "slurm-nodes", "--nodes")


def _lightning(setup: Setup, fact: str, argument: str, name: str, option: str) -> Iterator[Fact]:
    tasks = _single(setup, fact)
    trainers = setup.of("lightning")
    if setup.launched is None or setup.launched.launch.launcher != "python" or tasks is None or len(trainers) != 1:
        return
    wanted = number(trainers[0].data.get(argument))
    if wanted is not None and wanted != tasks and wanted > 0:
        where = next(item for item in setup.facts if item.name == fact)
        yield _fact(name, trainers[0], argument, f"{argument} is {wanted}, {option} is {tasks} ({where.source})")


@mismatch("batch-by-micro-batch")
def batch_by_micro_batch(setup: Setup, kb: Kb) -> Iterator[Fact]:  # noqa: ARG001
    """Find Megatron's global batch that is no multiple of micro batch times data-parallel ranks."""
    ranks = world_size(setup)
    for settings in setup.of("trainer") if ranks is not None else ():
        data = settings.data
        sizes = [
            number(data.get(key, "1"))
            for key in ("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size")
        ]
        whole, micro = number(data.get("global_batch_size")), number(data.get("micro_batch_size"))
        loose = {"rampup_batch_size", "decrease_batch_size_if_needed"} & data.keys()
        if "tensor_model_parallel_size" not in data or loose or None in sizes or not whole or not micro:
            continue
        shared = sizes[0] * sizes[1] * sizes[2]  # type: ignore[operator]
        if ranks % shared == 0 and whole % (micro * (ranks // shared)):  # type: ignore[operator]
            parallel = ranks // shared  # type: ignore[operator]
            text = f"{whole} is no multiple of {micro} x {parallel} data-parallel ranks"
            yield _fact("batch-by-micro-batch", settings, "global_batch_size", text)


def _misspelt(name: str, setup: Setup, kb: Kb) -> Iterator[Fact]:
    from rapidfuzz import fuzz, process

    for section in kb.config_keys:
        if section.shape != name:
            continue
        known = set(section.keys)
        for settings in setup.of(section.file):
            held = at(settings.data, section.at) if section.at else settings.data
            if settings.path is None or not isinstance(held, dict):
                continue
            for key in held:
                if not isinstance(key, str) or key in known or key.startswith("_") or len(key) > 80:
                    continue
                near = process.extractOne(key, section.keys, scorer=fuzz.ratio, score_cutoff=86)
                if near is not None and near[0] not in held:
                    place = f"{section.at}.{key}" if section.at else key
                    yield _fact(name, settings, place, f"{key} is no key; {near[0]} is")


@mismatch("deepspeed-toplevel-key-misspelt")
def toplevel_key_misspelt(setup: Setup, kb: Kb) -> Iterator[Fact]:
    """Find a misspelt top-level key of a DeepSpeed config."""
    yield from _misspelt("deepspeed-toplevel-key-misspelt", setup, kb)


@mismatch("deepspeed-section-key-misspelt")
def section_key_misspelt(setup: Setup, kb: Kb) -> Iterator[Fact]:
    """Find a misspelt key in a section of a DeepSpeed config."""
    yield from _misspelt("deepspeed-section-key-misspelt", setup, kb)


@mismatch("accelerate-key-misspelt")
def accelerate_key_misspelt(setup: Setup, kb: Kb) -> Iterator[Fact]:
    """Find a misspelt key of an Accelerate config."""
    yield from _misspelt("accelerate-key-misspelt", setup, kb)


_LIBRARIES = (
    "torch",
    "transformers",
    "datasets",
    "accelerate",
    "deepspeed",
    "trl",
    "peft",
    "tokenizers",
    "evaluate",
    "wandb",
    "safetensors",
    "lightning",
    "bitsandbytes",
)


@mismatch("file-shadows-package")
def file_shadows_package(setup: Setup, kb: Kb) -> Iterator[Fact]:  # noqa: ARG001
    """Find a file beside the script that bears a library's name and lacks what the script imports from it."""
    program = setup.program
    if program is None or program.imported:
        return
    folder = program.piece.text.path.parent
    for name in _LIBRARIES:
        wanted = [item for item in program.main.imports if item.startswith(name + ".")]
        local = next((source for source in program.sources[1:] if source.name == str(folder / f"{name}.py")), None)
        if local is None or not wanted:
            continue
        own = {
            node.name
            for node in local.tree.body
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        }
        own |= set(local.assigned) | {item.rpartition(".")[2] for item in local.imports}
        missing = [item for item in wanted if item.removeprefix(name + ".").partition(".")[0] not in own]
        if missing and "*" not in own:
            line = program.main.imports[missing[0]]
            text = f"{missing[0]} is looked for in {local.name}"
            yield Fact("setup.mismatch", "file-shadows-package", "derived", program.main.name, line, None, text)
