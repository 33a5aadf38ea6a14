"""Dumps from file to diagnosis: folders of traces and stacks, whatever their files are called."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path

import pytest

from denpex_kb import KnowledgeBase
from tests.flight_faults import Job, healthy, rank_never_called, subgroup_blocks_world

FETCH = (
    (
        "fetch_sub_module",
        "/opt/venv/lib/python3.11/site-packages/deepspeed/runtime/zero/partitioned_param_coordinator.py",
        297,
    ),
    ("<module>", "/home/user/train.py", 156),
)


class Hostile:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("true",)


def write(folder: Path, job: Job, name: str) -> Path:
    for rank, dump in job.dumps().items():
        data = json.dumps(dump, indent=1).encode() if name.endswith("json") else pickle.dumps(dump, protocol=2)
        path = folder / name.format(rank)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


@pytest.mark.parametrize(
    "name", ["nccl_trace_rank_{}", "trace_{}.pkl", "_dump_{}", "rank{}.json", "node/{}/trace", "fr_trace_{}.json"]
)
def test_the_rank_that_lags_began_it(tmp_path: Path, kb: KnowledgeBase, name: str) -> None:
    found = kb.diagnose(write(tmp_path, subgroup_blocks_world(5), name))

    assert found.verdict in ("matched", "stalled", "ambiguous")
    assert found.initiating is not None
    assert found.initiating.rank == 5
    assert "never called all_reduce" in found.initiating.why


def test_frames_of_a_trace_are_stacks(tmp_path: Path, kb: KnowledgeBase) -> None:
    job = Job(2)
    job.call(0, "_all_gather_base", state="started", frames=FETCH)
    job.call(1, "_reduce_scatter_base", state="started")

    found = kb.diagnose(write(tmp_path, job, "nccl_trace_rank_{}"))

    assert ("deepspeed", "all") in {(seen.value, "all") for seen in found.facts["uses"]}


def test_a_hostile_trace_is_noted_and_the_others_are_read(tmp_path: Path, kb: KnowledgeBase) -> None:
    write(tmp_path, rank_never_called(8, 3), "nccl_trace_rank_{}")
    (tmp_path / "nccl_trace_rank_8").write_bytes(pickle.dumps({"entries": [Hostile()], "pg_config": {}}))

    found = kb.diagnose(tmp_path)

    assert found.initiating is not None
    assert found.initiating.rank == 3
    assert any("nccl_trace_rank_8: not read as a trace: it names" in note for note in found.input.notes)


def test_traces_of_a_healthy_job_name_nobody(tmp_path: Path, kb: KnowledgeBase) -> None:
    found = kb.diagnose(write(tmp_path, healthy(), "nccl_trace_rank_{}"))

    assert found.verdict == "unknown"
    assert found.initiating is None


def pyspy(pid: int, *frames: str) -> str:
    body = "\n".join(f"    {frame}" for frame in frames)
    head = f"Process {pid}: python train.py --local_rank={pid - 100}\nPython v3.11.7 (/usr/bin/python3.11)\n\n"
    return f'{head}Thread {pid} (active): "MainThread"\n{body}\n'


def test_all_ranks_of_one_host_in_one_file(tmp_path: Path, kb: KnowledgeBase) -> None:
    loader = ("get (queue.py:171)", "_try_get_data (torch/utils/data/dataloader.py:1291)", "main (train.py:10)")
    step = ("synchronize (torch/cuda/__init__.py:566)", "main (train.py:14)")
    path = tmp_path / "pyspy.txt"
    path.write_text("".join(pyspy(100 + rank, *(loader if rank == 6 else step)) for rank in range(8)))

    found = kb.diagnose(path)

    assert found.initiating is not None
    assert found.initiating.rank == 6


def test_ranks_that_write_a_checkpoint_are_no_hang(tmp_path: Path, kb: KnowledgeBase) -> None:
    saving = (
        "_save (torch/serialization.py:1200)",
        "save (torch/serialization.py:900)",
        "save_checkpoint (train.py:70)",
        "<module> (train.py:99)",
    )
    path = tmp_path / "pyspy.txt"
    path.write_text("".join(pyspy(100 + rank, *saving) for rank in range(4)))

    found = kb.diagnose(path)

    assert found.verdict == "unknown"
    assert "writing a checkpoint" in found.because or not found.because


def test_dumps_of_all_ranks_at_the_end_of_one_log(tmp_path: Path, kb: KnowledgeBase) -> None:
    packages = "/opt/venv/lib/python3.11/site-packages"
    loader = [
        (f"{packages}/torch/utils/data/dataloader.py", 1291, "_try_get_data"),
        ("/home/u/train.py", 88, "<module>"),
    ]
    waiting = [
        (f"{packages}/torch/distributed/distributed_c10d.py", 2810, "all_reduce"),
        ("/home/u/train.py", 91, "<module>"),
    ]
    lines = [f"[default{rank}]:step {step} loss 2.3" for step in range(3) for rank in range(4)]
    for rank in range(4):
        lines.append(f"[default{rank}]:Timeout (0:10:00)!")
        lines.append(f"[default{rank}]:Thread 0x00007f5c2b7fe640 (most recent call first):")
        for file, line, function in loader if rank == 2 else waiting:
            lines.append(f'[default{rank}]:  File "{file}", line {line} in {function}')
    (tmp_path / "train.log").write_text("\n".join(lines))

    found = kb.diagnose(tmp_path / "train.log")

    assert found.initiating is not None
    assert found.initiating.rank == 2


DMESG = """[Wed Mar 11 03:12:40 2026] {0} invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE), order=0
[Wed Mar 11 03:12:40 2026] oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,task={0},pid={1},uid=0
[Wed Mar 11 03:12:40 2026] Out of memory: Killed process {1} ({0}) total-vm:35898216kB, anon-rss:23080136kB, UID:0
"""


def stack_dumps(folder: Path, ranks: int) -> Path:
    for rank in range(ranks):
        inner = "barrier (torch/distributed/distributed_c10d.py:5356)"
        inner = "backward (torch/autograd/__init__.py:395)\n    train_epoch (train.py:19)" if rank == 0 else inner
        text = f"Process {4200 + rank}: python train.py\nPython v3.11.7 (/usr/bin/python3.11)\n\n"
        text += f'Thread {4200 + rank} (idle): "MainThread"\n    {inner}\n    main (train.py:{30 + rank})\n'
        (folder / f"rank{rank}.pyspy.txt").write_text(text + "    <module> (train.py:40)\n")
    return folder


def test_what_the_kernel_did_to_another_process_is_passed_over(tmp_path: Path, kb: KnowledgeBase) -> None:
    (stack_dumps(tmp_path, 2) / "dmesg.txt").write_text(DMESG.format("chrome", 1717))

    found = kb.diagnose(tmp_path)

    assert not any("oom" in hypothesis.id for hypothesis in found.hypotheses)
    assert any("process 1717 (chrome) is none of the job's" in note for note in found.input.notes)


def test_a_killed_process_may_be_the_rank_whose_stack_is_missing(tmp_path: Path, kb: KnowledgeBase) -> None:
    (stack_dumps(tmp_path, 2) / "dmesg.txt").write_text(DMESG.format("python", 4202))
    (tmp_path / "train.log").write_text("[rank0]: world_size=3\nDistributed init: rank 0, WORLD_SIZE=3\n")

    found = kb.diagnose(tmp_path)

    assert found.hypotheses[0].id == "host-oom-killed-exit-minus-9"
