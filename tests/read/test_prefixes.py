"""Prefixes: whose line it is, and what the message behind them says."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from denpex_kb.catalog import yamlfile
from denpex_kb.model.prefix import PrefixFormat
from denpex_kb.read.prefixes import Prefix, PrefixReader

KB = Path(__file__).parents[2] / "kb"
FORMATS = yamlfile.read((KB / "prefixes.yaml").read_text(encoding="utf-8"), "prefixes.yaml", tuple[PrefixFormat, ...])
READER = PrefixReader(FORMATS)


def read(line: str, *, among: Iterable[str] = ()) -> Prefix:
    return READER.sample(among).read(line)


def stated(prefix: Prefix) -> dict[str, object]:
    names = [name for name in prefix.__struct_fields__ if name not in {"rest", "length", "time_text"}]
    return {name: value for name in names if (value := getattr(prefix, name)) is not None}


@pytest.mark.parametrize(
    ("line", "expected", "rest"),
    [
        ("[rank3]: Traceback (most recent call last):", {"rank": 3}, "Traceback (most recent call last):"),
        ('[rank3]:   File "train.py", line 3, in <module>', {"rank": 3}, '  File "train.py", line 3, in <module>'),
        ("[default0]:text", {"role": "default", "local_rank": 0}, "text"),
        ("[default0]:  indented", {"role": "default", "local_rank": 0}, "  indented"),
        ("[trainer0]:text", {"role": "trainer", "local_rank": 0}, "text"),
        ("[node7:0]:text", {"host": "node7", "local_rank": 0}, "text"),
        ("[1,26]<stdout>:text", {"rank": 26}, "text"),
        ("[1,0]<stderr>:", {"rank": 0}, ""),
        ("[prterun-node1-4242@1,3]<stdout>: text", {"rank": 3}, "text"),
        (
            "(RayTrainWorker pid=854, ip=10.0.0.7) text",
            {"role": "RayTrainWorker", "pid": 854, "ip": "10.0.0.7"},
            "text",
        ),
        ("(RayWorkerWrapper pid=854) text", {"role": "RayWorkerWrapper", "pid": 854}, "text"),
        ("\x1b[36m(RayTrainWorker pid=854)\x1b[0m text", {"role": "RayTrainWorker", "pid": 854}, "text"),
        ("(raylet) text", {"role": "raylet"}, "text"),
        (
            "(worker3, rank=3, pid=854, ip=10.0.0.7) text",
            {"role": "worker3", "group_rank": 3, "pid": 854, "ip": "10.0.0.7"},
            "text",
        ),
        ("[pod/name-worker-2/pytorch] text", {"pod": "name-worker-2"}, "text"),
        ("2025-11-24T03:20:21.001125857Z stdout F text", {}, "text"),
        ("2025-11-24T03:20:21.001125857Z text", {}, "text"),
        ("[rank: 3] Seed set to 42", {"rank": 3}, "Seed set to 42"),
        ("[rank 1] resumed from step 31", {"rank": 1}, "resumed from step 31"),
        ("[17:21:20] [rank0] step 0 forward start", {"rank": 0}, "step 0 forward start"),
        ("pdsh@head: node1: ssh exited with exit code 1", {"host": "node1"}, "ssh exited with exit code 1"),
        ("", {}, ""),
        ("Epoch 3:  45%", {}, "Epoch 3:  45%"),
    ],
)
def test_one_prefix_is_stripped_and_read(line: str, expected: dict[str, object], rest: str) -> None:
    prefix = read(line)

    assert (stated(prefix), prefix.rest) == (expected, rest)
    assert line[prefix.length :] == prefix.rest


@pytest.mark.parametrize(
    ("line", "expected", "rest"),
    [
        (
            "12: [default4]:[rank100]:[E321 02:07:08.4 ProcessGroupNCCL.cpp:607] text",
            {"task": 12, "role": "default", "local_rank": 4, "rank": 100},
            "[E321 02:07:08.4 ProcessGroupNCCL.cpp:607] text",
        ),
        (
            "2025-11-24T03:20:21Z [pod/run-worker-2/pytorch] [default1]:[rank17]: KeyError: 'x'",
            {"pod": "run-worker-2", "role": "default", "local_rank": 1, "rank": 17},
            "KeyError: 'x'",
        ),
        ("[asr-train-w-1:3]:[rank11]: text", {"host": "asr-train-w-1", "local_rank": 3, "rank": 11}, "text"),
        (
            "(RayTrainWorker pid=854, ip=10.0.0.7) [rank7]: text",
            {"role": "RayTrainWorker", "pid": 854, "ip": "10.0.0.7", "rank": 7},
            "text",
        ),
    ],
)
def test_prefixes_stack(line: str, expected: dict[str, object], rest: str) -> None:
    prefix = read(line)

    assert (stated(prefix), prefix.rest) == (expected, rest)


@pytest.mark.parametrize(
    "line",
    [
        "[1,3]<stderr>:[rank100]: text",
        "[rank100]:[E1206 18:44:12.715298746 ProcessGroupNCCL.cpp:607] [PG ID 0 PG GUID 0(default_pg) Rank 4] text",
        "[rank100]:2025-07-04 01:18:03,225 - trainer - INFO - [rank 3] step 79",
    ],
)
def test_the_rank_of_the_exception_hook_wins_over_every_other(line: str) -> None:
    assert read(line).rank == 100


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("[E1206 18:44:12.715298746 ProcessGroupNCCL.cpp:607] [Rank 3] text", {"pg_rank": 3}),
        ("[E1206 18:44:12.715298746 ProcessGroupNCCL.cpp:607] [PG ID 2 PG GUID 9 Rank 4] text", {"pg_rank": 4}),
        ("[E1206 18:44:12.715298746 ProcessGroupNCCL.cpp:607] [PG ID 0 PG GUID 0(default_pg) Rank 1] x", {"rank": 1}),
        ("[E ProcessGroupNCCL.cpp:458] [Rank 3] text", {"pg_rank": 3}),
        ("gpu-07:4242:4300 [2] NCCL INFO text", {"host": "gpu-07", "pid": 4242, "device": 2}),
        (
            "[2025-11-03 12:00:01] gpu-07:4242:4300 [2] misc/socket.cc:49 NCCL WARN text",
            {"host": "gpu-07", "pid": 4242, "device": 2},
        ),
        ("W0920 09:10:41.194000 84933 torch/distributed/elastic/agent/server/api.py:719] text", {"pid": 84933}),
        ("[2025-11-03 12:00:01,123] [INFO] [logging.py:96:log_dist] [Rank 0] step=10", {"rank": 0}),
        ("rank 3 step 10", {"rank": 3}),
    ],
)
def test_a_loggers_own_head_is_read_and_stays_part_of_the_message(line: str, expected: dict[str, object]) -> None:
    prefix = read(line)

    assert (stated(prefix), prefix.rest, prefix.length) == (expected, line, 0)


def test_the_device_in_nccls_brackets_is_no_rank() -> None:
    assert read("gpu-07:4242:4300 [2] NCCL INFO text").rank is None


@pytest.mark.parametrize(
    ("line", "host", "rest"),
    [
        (
            "Nov  3 12:00:01 gpu-07 kernel: NVRM: Xid (PCI:0000:4f:00): 79",
            "gpu-07",
            "kernel: NVRM: Xid (PCI:0000:4f:00): 79",
        ),
        ("2025-11-03T12:00:01.5+00:00 gpu-07 kernel: text", "gpu-07", "kernel: text"),
        ("[Mon Nov  3 12:00:01 2025] NVRM: text", None, "NVRM: text"),
        ("[1843.308145] NVRM: text", None, "NVRM: text"),
    ],
)
def test_a_kernel_line_keeps_its_emitter(line: str, host: str | None, rest: str) -> None:
    prefix = read(line)

    assert (prefix.host, prefix.rest) == (host, rest)
    assert prefix.time_text is not None


def test_the_outermost_time_is_the_one_that_orders_the_file() -> None:
    line = "2025-11-24T03:20:21.5Z [rank3]:[E1124 04:20:21.400000000 ProcessGroupNCCL.cpp:607] text"

    assert read(line).time_text == "2025-11-24T03:20:21.5Z"


SAMPLED = [
    (" 3: text", {"task": 3}, "text"),
    ("12: text", {"task": 12}, "text"),
    ("P0  3: text", {"task": 3}, "text"),
    ("node1: text", {"host": "node1"}, "text"),
    ("worker-1: text", {"host": "worker-1"}, "text"),
    ("10.0.0.3: text", {"host": "10.0.0.3"}, "text"),
    ("[3] text", {"rank": 3}, "text"),
    ("[3]:text", {"rank": 3}, "text"),
    ("[actor2]:text", {"role": "actor", "local_rank": 2}, "text"),
    ("worker-2 pytorch text", {"pod": "worker-2"}, "text"),
    ("trainer-1  | text", {"pod": "trainer-1"}, "text"),
]


@pytest.mark.parametrize(("line", "expected", "rest"), SAMPLED)
def test_what_ordinary_text_looks_like_is_believed_where_most_lines_carry_it(
    line: str, expected: dict[str, object], rest: str
) -> None:
    prefix = read(line, among=[line, line, "", "srun: text"])

    assert (stated(prefix), prefix.rest) == (expected, rest)


@pytest.mark.parametrize("line", [line for line, _, _ in SAMPLED])
def test_what_ordinary_text_looks_like_is_not_believed_where_few_lines_carry_it(line: str) -> None:
    prefix = read(line, among=[line, "loading weights", "training", "saved"])

    assert (stated(prefix), prefix.rest) == ({}, line)


def test_sampled_prefixes_may_stack() -> None:
    lines = ["node1: [3] text", "node2: [9] text"]

    prefix = read(lines[1], among=lines)

    assert (prefix.host, prefix.rank, prefix.rest) == ("node2", 9, "text")


@pytest.mark.parametrize(
    "line",
    [
        "RuntimeError: text",
        "ValueError: text",
        "step12: loss 3",
        "iter12: loss 3",
        "[train.py:45]: text",
        "[Rank 0]: Rank 2 failed to pass monitoredBarrier in 8000 ms",
        "[91, 69, 86, 81]",
        '  File "train.py", line 3, in <module>',
        "(min, max) time across ranks (ms):",
        "Traceback (most recent call last):",
    ],
)
def test_text_that_only_resembles_a_prefix_is_left_alone(line: str) -> None:
    prefix = read(line, among=[line] * 3)

    assert prefix.rest == line


def test_the_numbers_of_torchruns_failure_block_are_no_ranks() -> None:
    block = ["Failures:", "[1]:", "  time      : 2025-11-03_12:00:01", "  rank      : 57 (local_rank: 1)"]

    assert read("[1]:", among=block).rank is None


@pytest.mark.parametrize("shape", FORMATS, ids=lambda shape: shape.id)
def test_every_format_reads_its_own_examples(shape: PrefixFormat) -> None:
    reader = PrefixReader((shape,), frozenset({shape.id}))

    for line in shape.examples:
        prefix = reader.read(line)
        assert shape.keep or prefix.length > 0
        assert not shape.gives or stated(prefix) or prefix.time_text


def test_ids_are_unique() -> None:
    ids = [shape.id for shape in FORMATS]

    assert len(ids) == len(set(ids))
