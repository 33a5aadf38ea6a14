"""Where the ranks of a silent job stand, and who stands apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from denpex_kb import KnowledgeBase
from denpex_kb.derive.stacks import FrameRoles, StackFindings, find_stack_relations, rank_list
from denpex_kb.model.stacks import Frame, Process, Thread

C10D = "torch/distributed/distributed_c10d.py"
CALL = ("_call_impl", "torch/nn/modules/module.py", 1884)
MAIN = (("main", "train.py", 90), ("<module>", "train.py", 120))
Stack = Sequence[tuple[str, str, int]]

BACKWARD: Stack = (
    ("_engine_run_backward", "torch/autograd/graph.py", 979),
    ("backward", "torch/autograd/__init__.py", 395),
    ("train_step", "train.py", 44),
    *MAIN,
)
ALL_REDUCE: Stack = (
    ("all_reduce", C10D, 2810),
    ("wrapper", "torch/distributed/c10d_logger.py", 83),
    ("train_step", "train.py", 47),
    *MAIN,
)
ITEM: Stack = (("item", "train.py", 50), ("train_step", "train.py", 50), *MAIN)
SYNCHRONIZE: Stack = (("synchronize", "torch/cuda/__init__.py", 566), ("train_step", "train.py", 51), *MAIN)
GATHER: Stack = (
    ("AllGatherHandle.wait", "deepspeed/runtime/zero/partition_parameters.py", 643),
    ("fetch_sub_module", "deepspeed/runtime/zero/partitioned_param_coordinator.py", 325),
    CALL,
    ("LlamaModel.forward", "transformers/models/llama/modeling_llama.py", 459),
    ("train_step", "train.py", 40),
    *MAIN,
)
BARRIER: Stack = (("barrier", C10D, 5356), ("<module>", "train.py", 130))
SAVE_BARRIER: Stack = (
    ("barrier", C10D, 5356),
    ("finish", "train.py", 95),
    ("main", "train.py", 96),
    ("<module>", "train.py", 120),
)
SAVE: Stack = (
    ("_save", "torch/serialization.py", 1200),
    ("save", "torch/serialization.py", 900),
    ("save_checkpoint", "train.py", 70),
    ("main", "train.py", 94),
    ("<module>", "train.py", 120),
)
DATA: Stack = (
    ("wait", "threading.py", 327),
    ("get", "queue.py", 171),
    ("_try_get_data", "torch/utils/data/dataloader.py", 1291),
    ("__next__", "torch/utils/data/dataloader.py", 725),
    ("main", "train.py", 88),
    ("<module>", "train.py", 120),
)
EVALUATE: Stack = (
    ("forward", "model.py", 30),
    ("evaluate", "train.py", 61),
    ("main", "train.py", 92),
    ("<module>", "train.py", 120),
)
LOGGING: Stack = (
    ("publish", "wandb/sdk/interface/interface_sock.py", 40),
    ("log", "train.py", 10),
    ("train_step", "train.py", 55),
    *MAIN,
)
SLEEP: Stack = (("augment", "data.py", 12), ("train_step", "train.py", 38), *MAIN)
GENERATE: Stack = (
    ("forward", "model.py", 30),
    ("_sample", "transformers/generation/utils.py", 3219),
    ("rollout", "train.py", 33),
    *MAIN,
)
WORKER: Stack = (
    ("fetch", "torch/utils/data/_utils/fetch.py", 54),
    ("_worker_loop", "torch/utils/data/_utils/worker.py", 374),
    *MAIN,
)
AGENT: Stack = (
    ("_invoke_run", "torch/distributed/elastic/agent/server/api.py", 870),
    ("run", "torch/distributed/run.py", 918),
)
RECV: Stack = (
    ("recv", C10D, 2500),
    ("recv_forward", "megatron/core/pipeline_parallel/p2p_communication.py", 300),
    *MAIN,
)
SEND: Stack = (
    ("send", C10D, 2400),
    ("send_backward", "megatron/core/pipeline_parallel/p2p_communication.py", 350),
    ("main", "train.py", 91),
    MAIN[1],
)


def process(rank: int | None, stack: Stack, pid: int | None = None) -> Process:
    frames = [Frame(function, file, line, number) for number, (function, file, line) in enumerate(stack, 2)]
    return Process(
        f"rank{rank}.txt",
        1,
        40,
        pid if pid is not None else 100 + (rank or 0),
        rank,
        threads=[Thread("MainThread", 1, frames)],
    )


@pytest.fixture(scope="module")
def roles(kb: KnowledgeBase) -> FrameRoles:
    return FrameRoles(kb.index.rules, {mark.id: mark.note or "" for mark in kb.index.kb.marks})


def find(stacks: Mapping[int, Stack], roles: FrameRoles, world_size: int | None = None) -> StackFindings:
    return find_stack_relations([process(rank, stack) for rank, stack in stacks.items()], roles, world_size)


def mostly(stack: Stack, world: int, **others: Stack) -> dict[int, Stack]:
    return {rank: others.get(f"r{rank}", stack) for rank in range(world)}


AHEAD = dict(enumerate([ITEM, SYNCHRONIZE, ALL_REDUCE, ITEM, BACKWARD, ITEM, ITEM, ITEM]))


@pytest.mark.parametrize(
    ("stacks", "ranks"),
    [
        (mostly(ALL_REDUCE, 8, r0=SAVE), (0,)),
        (mostly(SAVE_BARRIER, 8, r0=SAVE), (0,)),
        (mostly(ALL_REDUCE, 4, r0=EVALUATE), (0,)),
        (mostly(ALL_REDUCE, 4, r0=LOGGING), (0,)),
        (mostly(GATHER, 8, r5=SLEEP), (5,)),
        (mostly(BACKWARD, 16, r3=DATA), (3,)),
        ({**AHEAD, 3: DATA}, (3,)),
        (mostly(GATHER, 16, r4=GENERATE, r9=GENERATE), (4, 9)),
        ({0: GATHER, 1: BARRIER}, (1,)),
        ({0: SAVE, 1: SAVE_BARRIER}, (0,)),
        ({0: BARRIER, 1: BARRIER, 2: GATHER, 3: BARRIER}, (2,)),
        ({0: ALL_REDUCE, 1: SLEEP}, (1,)),
        ({0: GATHER, 1: BACKWARD}, ()),
        ({0: RECV, 1: SEND, 2: RECV, 3: SEND}, ()),
    ],
)
def test_who_stands_apart(stacks: dict[int, Stack], ranks: tuple[int, ...], roles: FrameRoles) -> None:
    relation, *_ = find(stacks, roles).relations

    assert (relation.name, relation.ranks, relation.culprit) == ("odd-stack", ranks, bool(ranks))
    if ranks:
        assert relation.lines[0].line.rank == ranks[0]


def test_the_text_says_who_stands_where(roles: FrameRoles) -> None:
    (relation,) = find(mostly(ALL_REDUCE, 8, r0=SAVE), roles).relations

    assert relation.text.split("; ") == [
        "rank 0 in save_checkpoint (train.py:70) (a save)",
        "ranks 1-7 in all_reduce (torch/distributed/distributed_c10d.py:2810)",
    ]


def test_calls_of_one_collective_are_told_apart_by_the_way_to_them(roles: FrameRoles) -> None:
    elsewhere = (*ALL_REDUCE[:2], ("sync_metrics", "train.py", 12), *MAIN)
    (relation,) = find(mostly(ALL_REDUCE, 8, r2=elsewhere), roles).relations

    assert relation.text.split("; ") == [
        f"rank 2 in all_reduce ({C10D}:2810), reached through sync_metrics (train.py:12)",
        f"ranks 0, 1, 3-7 in all_reduce ({C10D}:2810), reached through train_step (train.py:47)",
    ]


@pytest.mark.parametrize(
    ("stacks", "ranks"),
    [
        ({0: BACKWARD, 1: BARRIER}, (1,)),
        ({0: GATHER, 1: BARRIER, 2: GATHER, 3: BARRIER}, (1, 3)),
        ({0: BARRIER, 1: BACKWARD}, None),
        ({0: BARRIER, 1: BARRIER, 2: BACKWARD}, None),
        ({1: BARRIER, 2: BACKWARD}, None),
    ],
)
def test_a_barrier_that_rank_0_has_not_reached(
    stacks: dict[int, Stack], ranks: tuple[int, ...] | None, roles: FrameRoles
) -> None:
    found = [relation for relation in find(stacks, roles).relations if relation.name == "others-in-a-barrier"]

    assert [(relation.ranks, relation.culprit) for relation in found] == ([(ranks, False)] if ranks else [])


def test_the_same_place_everywhere(roles: FrameRoles) -> None:
    (relation,) = find(mostly(ALL_REDUCE, 4), roles, 4).relations

    assert relation.name == "same-stack-everywhere"
    assert relation.text == "all 4 stand in all_reduce (torch/distributed/distributed_c10d.py:2810)"


def test_the_same_place_of_some_ranks_says_nothing_of_all(roles: FrameRoles) -> None:
    assert find(mostly(ALL_REDUCE, 3), roles, 8).relations == ()


def test_one_process_of_eight_says_nothing(roles: FrameRoles) -> None:
    found = find({0: ALL_REDUCE}, roles, 8)

    assert found.relations == ()
    assert found.seen == "rank 0 in all_reduce (torch/distributed/distributed_c10d.py:2810) (stacks of 1 of 8 ranks)"


def test_coverage_is_told(roles: FrameRoles) -> None:
    (relation,) = find(mostly(ALL_REDUCE, 3, r2=SLEEP), roles, 8).relations

    assert (relation.basis, relation.coverage) == ("stacks of 3 of 8 ranks", "partial")


def test_ranks_that_all_write_a_checkpoint_are_at_work(roles: FrameRoles) -> None:
    assert find(mostly(SAVE, 4), roles, 4).at_work == "every rank is writing a checkpoint"
    assert find(mostly(SAVE, 4, r1=SAVE_BARRIER), roles, 4).at_work == ""
    assert find(mostly(ALL_REDUCE, 4), roles, 4).at_work == ""


def test_workers_and_launchers_are_no_ranks(roles: FrameRoles) -> None:
    processes = [process(rank, stack) for rank, stack in mostly(ALL_REDUCE, 3, r1=DATA).items()]
    processes += [process(None, WORKER, 500), process(None, WORKER, 501), process(None, AGENT, 600)]

    (relation,) = find_stack_relations(processes, roles, None).relations

    assert relation.ranks == (1,)


def test_processes_without_ranks_are_compared_by_their_pids(roles: FrameRoles) -> None:
    processes = [process(None, stack, 100 + number) for number, stack in enumerate([ALL_REDUCE, ALL_REDUCE, SLEEP])]

    (relation,) = find_stack_relations(processes, roles, None).relations

    assert relation.ranks == ()
    assert relation.text.startswith("process 102 in augment (data.py:12)")


@pytest.mark.parametrize(
    ("ranks", "text"),
    [([3], "rank 3"), ([0, 1], "ranks 0, 1"), ([0, 1, 2, 7], "ranks 0-2, 7"), (range(64), "ranks 0-63")],
)
def test_ranks_are_written_as_people_do(ranks: Sequence[int], text: str) -> None:
    assert rank_list(ranks) == text
