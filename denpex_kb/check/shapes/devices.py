"""Process groups, and which GPU a rank uses."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from denpex_kb.check.program import Program
from denpex_kb.check.shapes.ranks import COLLECTIVES
from denpex_kb.check.shapes.registry import Hit, shape
from denpex_kb.read.source import Source

# Words with which a program may bind a rank to its GPU, itself or through a library
_BINDS = (
    "set_device", "device_id", "CUDA_VISIBLE_DEVICES", "set_default_device", "set_device_idx", "Accelerator",
    "PartialState", "deepspeed", "Fabric", "lightning", "pytorch_lightning", "device_mesh", "init_device_mesh",
    "TrainingArguments", "ray",
)  # fmt: skip


def nccl_init(program: Program) -> ast.Call | None:
    """Return the main file's init_process_group with the NCCL backend, where the main file is a whole program."""
    if program.imported:
        return None
    source = program.main
    for call in source.calls_of("torch.distributed.init_process_group"):
        backend = source.argument(call, 0) or source.keyword(call, "backend")
        if backend is not None and source.literal(backend) == "nccl":
            return call
    return None


def is_entry(source: Source) -> bool:
    """Say whether a file is run as a script: a `__main__` guard, or a process group at its top level."""
    return "__main__" in source.text or any(
        source.function_of(call) is source.tree for call in source.calls_of("torch.distributed.init_process_group")
    )


@shape("never-destroyed")
def never_destroyed(program: Program) -> Iterator[Hit]:
    """Find a script that makes an NCCL group which nothing in the program destroys."""
    call = nccl_init(program)
    if call is None or not is_entry(program.main):
        return
    if not program.mentions("destroy_process_group", "Accelerator", "deepspeed", "cleanup", "destroy"):
        yield Hit(call.lineno, "init_process_group() without destroy_process_group()")


@shape("gpu-not-chosen")
def gpu_not_chosen(program: Program) -> Iterator[Hit]:
    """Find `.cuda()` or `.to("cuda")` under NCCL in a program that never says which GPU a rank uses."""
    source = program.main
    init = nccl_init(program)
    if init is None or not is_entry(source) or program.mentions(*_BINDS) or program.contains("cuda:"):
        return
    for call in source.calls_of("*.cuda", "*.to"):
        if not isinstance(call.func, ast.Attribute):
            continue
        plain = call.func.attr == "cuda" and not call.args and not call.keywords
        named = call.func.attr == "to" and len(call.args) == 1 and source.literal(call.args[0]) == "cuda"
        if (plain or named) and isinstance(source.parents.get(call), ast.Assign | ast.Expr | ast.Call):
            yield Hit(call.lineno, "the current GPU, which is GPU 0 on every rank")
            return


@shape("barrier-without-device")
def barrier_without_device(program: Program) -> Iterator[Hit]:
    """Find a barrier under NCCL in a program that computes a device per rank but never makes it the current one."""
    source = program.main
    init = nccl_init(program)
    if init is None or not is_entry(source) or program.mentions(*_BINDS) or not program.contains("cuda:"):
        return
    for call in source.calls_of("torch.distributed.barrier"):
        if not call.args and not call.keywords:
            yield Hit(call.lineno, "barrier() before the rank is bound to its GPU")
            return


_MAKERS = frozenset(
    f"torch.{name}"
    for name in ("tensor", "zeros", "ones", "empty", "full", "arange", "Tensor", "FloatTensor", "LongTensor")
)


@shape("cpu-tensor-in-collective")
def cpu_tensor_in_collective(program: Program) -> Iterator[Hit]:
    """Find a tensor that is made on the CPU in the same function and goes into a collective of an NCCL group."""
    source = program.main
    if nccl_init(program) is None or program.mentions("gloo", "set_default_device", "set_default_tensor_type"):
        return
    for call in source.calls_of(*COLLECTIVES):
        if not call.args or source.keyword(call, "group") is not None:
            continue
        made = source.only_value(call.args[0])
        if isinstance(made, ast.Call) and source.name_of(made.func) in _MAKERS:
            same = source.function_of(made) is source.function_of(call)
            if same and source.keyword(made, "device") is None and not any(item.arg is None for item in made.keywords):
                yield Hit(call.lineno, "a tensor made on the CPU")


@shape("env-init")
def env_init(program: Program) -> Iterator[Hit]:
    """Find init_process_group that reads a launcher's variables, where the script neither sets them nor spawns."""
    source = program.main
    if program.imported or not is_entry(source):
        return
    if program.mentions(
        "spawn", "start_processes", "MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "Process", "mpi4py", "ray"
    ):
        return
    for call in source.calls_of("torch.distributed.init_process_group"):
        given = {item.arg for item in call.keywords}
        conditional = any(isinstance(outer, ast.If | ast.Try) for outer in _until_function(source, call))
        if not given & {"rank", "world_size", "store", "init_method", None} and len(call.args) < 2 and not conditional:
            yield Hit(call.lineno, "rank and world size come from a launcher's variables")


def _until_function(source: Source, node: ast.AST) -> Iterator[ast.AST]:
    for outer in source.ancestors(node):
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef):
            return
        if isinstance(outer, ast.If) and "__name__" in ast.dump(outer.test):
            continue
        yield outer


@shape("underscore-local-rank")
def underscore_local_rank(program: Program) -> Iterator[Hit]:
    """Find a parser that knows --local_rank and not --local-rank."""
    options = _options(program)
    line = options.get("--local_rank")
    if line is not None and "--local-rank" not in options:
        yield Hit(line, "--local_rank only")


@shape("no-local-rank")
def no_local_rank(program: Program) -> Iterator[Hit]:
    """Find a script that parses its arguments strictly and knows no local rank."""
    options = _options(program)
    strict = [call for call in program.main.calls_of("*.parse_args") if not call.args and not call.keywords]
    known = any(name.replace("_", "-").startswith("--local") for name in options)
    if options and strict and not known and not program.mentions("local_rank", "add_config_arguments"):
        yield Hit(strict[0].lineno, "no option for the local rank")


def _options(program: Program) -> dict[str, int]:
    found: dict[str, int] = {}
    for source, call in program.calls("*.add_argument"):
        if source is program.main:
            for item in call.args:
                name = source.literal(item)
                if isinstance(name, str):
                    found.setdefault(name, call.lineno)
    return found
