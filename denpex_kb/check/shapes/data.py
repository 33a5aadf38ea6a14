"""DataLoaders, samplers and datasets."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from denpex_kb.check.program import Program
from denpex_kb.check.shapes.registry import Hit, shape
from denpex_kb.read.source import Source

LOADERS = ("torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader")


def workers(source: Source, call: ast.Call) -> int:
    """Return the number of workers that a DataLoader call states; 0 where it states none."""
    value = source.literal(source.keyword(call, "num_workers"))
    return value if isinstance(value, int) else 0


@shape("sampler-and-shuffle")
def sampler_and_shuffle(program: Program) -> Iterator[Hit]:
    """Find DataLoader(sampler=<a sampler>, shuffle=True)."""
    source = program.main
    for call in source.calls_of(*LOADERS):
        sampler = source.keyword(call, "sampler") or source.keyword(call, "batch_sampler")
        if sampler is None or source.literal(source.keyword(call, "shuffle")) is not True:
            continue
        made = source.only_value(sampler)
        if isinstance(made, ast.Call) and source.name_of(made.func).endswith("Sampler"):
            yield Hit(call.lineno, "sampler and shuffle=True")


@shape("unpicklable-on-spawn")
def unpicklable_on_spawn(program: Program) -> Iterator[Hit]:
    """Find a lambda given to workers that start by spawn or forkserver."""
    source = program.main
    methods = ("torch.multiprocessing.set_start_method", "multiprocessing.set_start_method")
    spawned = any(
        call.args and source.literal(call.args[0]) in ("spawn", "forkserver") for call in source.calls_of(*methods)
    )
    for call in source.calls_of(*LOADERS):
        context = source.literal(source.keyword(call, "multiprocessing_context"))
        if not (context in ("spawn", "forkserver") or (spawned and context is not None and context != "fork")):
            continue
        for name in ("collate_fn", "worker_init_fn"):
            if workers(source, call) > 0 and isinstance(source.only_value(source.keyword(call, name)), ast.Lambda):
                yield Hit(call.lineno, f"{name} is a lambda")


def _classes(source: Source, *bases: str) -> dict[str, ast.ClassDef]:
    return {
        node.name: node
        for node in source.nodes
        if isinstance(node, ast.ClassDef) and any(source.name_of(base) in bases for base in node.bases)
    }


def _method(node: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    return next((item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == name), None)


@shape("iterable-not-split")
def iterable_not_split(program: Program) -> Iterator[Hit]:
    """Find an IterableDataset of this file, read by several workers, in a program that never asks for the worker."""
    source = program.main
    known = _classes(source, "torch.utils.data.IterableDataset", "torch.utils.data.dataset.IterableDataset")
    if not known or program.mentions("get_worker_info", "worker_init_fn", "split_by_worker", "split_dataset_by_node"):
        return
    for call in source.calls_of(*LOADERS):
        dataset = source.only_value(source.argument(call, 0) or source.keyword(call, "dataset"))
        if isinstance(dataset, ast.Call) and source.name_of(dataset.func) in known and workers(source, call) > 1:
            iterates = _method(known[source.name_of(dataset.func)], "__iter__")
            if iterates is not None:
                yield Hit(call.lineno, f"{workers(source, call)} workers each read all of the dataset")


@shape("cuda-in-dataset")
def cuda_in_dataset(program: Program) -> Iterator[Hit]:
    """Find a dataset that uses the GPU in __getitem__, read by forked workers."""
    source = program.main
    known = _classes(source, "torch.utils.data.Dataset", "torch.utils.data.dataset.Dataset")
    if not known or program.contains("spawn") or program.contains("forkserver"):
        return
    used = {
        source.name_of(made.func)
        for call in source.calls_of(*LOADERS)
        if workers(source, call) > 0
        and isinstance(made := source.only_value(source.argument(call, 0) or source.keyword(call, "dataset")), ast.Call)
    }
    for name in known.keys() & used:
        method = _method(known[name], "__getitem__")
        for node in ast.walk(method) if method is not None else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                target = source.literal(node.args[0]) if node.args else None
                if node.func.attr == "cuda" or (node.func.attr == "to" and str(target).startswith("cuda")):
                    yield Hit(node.lineno, "the GPU is used in a DataLoader worker")


@shape("rank-slice")
def rank_slice(program: Program) -> Iterator[Hit]:
    """Find `samples[rank::world_size]` feeding a DDP training loop, where nothing makes the parts equal."""
    source = program.main
    trains = bool(source.calls_of("*.backward")) and program.mentions("DistributedDataParallel")
    if not trains or program.mentions(
        "Join", "join", "drop_last", "DistributedSampler", "islice", "pad", "truncate", "all_reduce", "min"
    ):
        return
    for node in source.nodes:
        if not (isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice)):
            continue
        lower, step = node.slice.lower, node.slice.step
        if lower is None or step is None or node.slice.upper is not None or not source.is_rank(lower):
            continue
        by_ranks = source.name_of(step).lower().endswith(("world_size", "get_world_size()"))
        if by_ranks and "os." not in source.name_of(node.value):
            yield Hit(node.lineno, "each rank takes every world_size-th sample")
