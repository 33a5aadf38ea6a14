"""Traces of the flight recorder: any naming, pickle or JSON, and nothing but plain data."""

from __future__ import annotations

import datetime as dt
import json
import os
import pickle
import re
from typing import Any

import pytest

from denpex_kb.read.flight import RefusedError, looks_like_trace, read_flight

ENTRY: dict[str, Any] = {
    "record_id": 7,
    "pg_id": 0,
    "process_group": ("0", "default_pg"),
    "collective_seq_id": 4,
    "p2p_seq_id": 0,
    "op_id": 4,
    "profiling_name": "nccl:_all_gather_base",
    "time_created_ns": 1_759_059_552_000_000_000,
    "input_sizes": [[512]],
    "input_dtypes": ["BFloat16"],
    "output_sizes": [[4096]],
    "output_dtypes": ["BFloat16"],
    "state": "started",
    "retired": False,
    "timeout_ms": 600_000,
    "is_p2p": False,
    "frames": [
        {
            "name": "fetch_sub_module",
            "filename": "/opt/lib/python3.11/site-packages/deepspeed/runtime/zero/partitioned_param_coordinator.py",
            "line": 297,
        },
        {"name": "<module>", "filename": "/home/user/train/train.py", "line": 156},
    ],
}
DUMP: dict[str, Any] = {
    "version": "2.9",
    "nccl_version": "2.27.3",
    "pg_config": {
        "0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"},
        "1": {"name": "1", "desc": "TENSOR_MODEL_PARALLEL_GROUP", "ranks": "[2, 3]"},
    },
    "pg_status": {"0": {"last_enqueued_collective": 4, "last_started_collective": -1, "last_completed_collective": 3}},
    "entries": [{**ENTRY, "record_id": 6, "collective_seq_id": 3, "state": "completed", "retired": True}, ENTRY],
}


class Hostile:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("touch /tmp/owned",)


def pickled(value: object, protocol: int = 2) -> bytes:
    return pickle.dumps(value, protocol=protocol)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_pickle_of_plain_data_is_read(protocol: int) -> None:
    data = pickled(DUMP, protocol)

    assert looks_like_trace(data)
    flight = read_flight(data, "nccl_trace_rank_2", 2)

    assert flight is not None
    (trace,) = flight.traces
    assert trace.rank == 2
    assert [(record.seq, record.op, record.done) for record in trace.records] == [
        (3, "_all_gather_base", True),
        (4, "_all_gather_base", False),
    ]
    assert trace.groups["1"].ranks == (2, 3)
    assert trace.progress[0].completed == 3


def test_json_is_read_alike() -> None:
    data = json.dumps(DUMP, indent=1).encode()

    assert looks_like_trace(data)
    flight = read_flight(data, "trace.json", 3)

    assert flight is not None
    assert flight.traces[0].records[1].inputs == ((512,),)


@pytest.mark.parametrize("value", [Hostile(), {"entries": [Hostile()]}, {"entries": [], "at": dt.date(2025, 1, 1)}])
def test_a_pickle_of_anything_else_is_refused_and_named(value: object) -> None:
    with pytest.raises(RefusedError, match=r"names (posix|nt|datetime)\.\w+"):
        read_flight(pickled(value), "nccl_trace_rank_0", 0)


@pytest.mark.parametrize(
    "data",
    [
        pickled(DUMP)[:200],
        b"\x80\x02}q\x00(X\x07\x00\x00\x00entries",
        b"\x80\x02r\xff\xff\xff\xff.",  # a memo index of 2**32
        b"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x7f.",  # 2**63 bytes announced
        b"\x80\x02(((((((.",
    ],
)
def test_a_broken_pickle_is_refused(data: bytes) -> None:
    with pytest.raises(RefusedError):
        read_flight(data, "nccl_trace_rank_0", 0)


def test_an_array_of_bytes_is_refused_before_room_is_made_for_it() -> None:
    """The length in front of it may be any number, and memory of that size would be filled first."""
    stated = (2**62).to_bytes(8, "little")
    with pytest.raises(RefusedError, match="bytearray"):
        read_flight(b"\x80\x05}\x8c\x09pg_config\x96" + stated + b"abc", "trace_0", None)


def test_references_to_outside_are_refused() -> None:
    with pytest.raises(RefusedError, match="outside"):
        read_flight(b"\x80\x02X\x01\x00\x00\x00aQ.", "nccl_trace_rank_0", 0)


@pytest.mark.parametrize(
    ("name", "rank"),
    [("_dump_3", 3), ("trace_3.pkl", 3), ("fr_trace_3.json", 3), ("node1/2", 2), ("nccl_trace_3", 3)],
)
def test_the_last_number_of_a_name_is_the_rank(name: str, rank: int) -> None:
    flight = read_flight(pickled(DUMP), name, None)

    assert flight is not None
    assert flight.traces[0].rank == rank


def test_a_number_that_is_no_member_of_the_groups_is_no_rank() -> None:
    flight = read_flight(pickled(DUMP), "trace_17.pkl", None)

    assert flight is not None
    assert flight.traces[0].rank is None


def test_a_group_of_one_tells_the_rank() -> None:
    alone = {**DUMP, "pg_config": {**DUMP["pg_config"], "2": {"name": "2", "desc": "x", "ranks": "[3]"}}}

    flight = read_flight(pickled(alone), "dump.pkl", None)

    assert flight is not None
    assert flight.traces[0].rank == 3


def test_one_file_may_hold_the_dumps_of_all_ranks() -> None:
    flight = read_flight(json.dumps({"3": DUMP, "rank_2": DUMP}).encode(), "all.json", None)

    assert flight is not None
    assert [trace.rank for trace in flight.traces] == [3, 2]
    assert b"[rank2]: flight recorder: rank 2 waits in nccl:_all_gather_base seq=4" in flight.text


def test_what_is_pending_becomes_lines_that_signatures_match() -> None:
    flight = read_flight(pickled(DUMP), "nccl_trace_rank_2", 2)

    assert flight is not None
    assert flight.text.decode().splitlines() == [
        (
            "flight recorder: rank 2 waits in nccl:_all_gather_base seq=4 group=0 (default_pg) in=[[512]] out=[[4096]]"
            " state=started"
        ),
        "    fetch_sub_module (deepspeed/runtime/zero/partitioned_param_coordinator.py:297)",
        "    <module> (train.py:156)",
    ]


def test_lines_of_a_json_trace_stay_where_they_were() -> None:
    data = json.dumps(DUMP, indent=1).encode()

    flight = read_flight(data, "rank2.json", 2)

    assert flight is not None
    number = next(n for n, line in enumerate(flight.text.split(b"\n"), 1) if line.startswith(b"flight"))
    names = [n for n, line in enumerate(data.split(b"\n"), 1) if re.search(rb'"profiling_name"', line)]
    assert number == names[1]
    assert flight.traces[0].records[1].line == number


def test_a_trace_states_facts() -> None:
    flight = read_flight(pickled(DUMP), "nccl_trace_rank_2", 2)

    assert flight is not None
    assert {(fact.name, fact.value) for fact in flight.facts} == {("world_size", 4), ("nccl.version", "2.27.3")}


@pytest.mark.parametrize(
    "head",
    [
        b'{"zero_optimization": {"stage": 3}}',
        b"step 10 loss 2.3\n",
        b"\x80\x02}q\x00X\x05\x00\x00\x00modelq\x01",
        b"",
        b"[",
        b"[rank0]: Traceback (most recent call last):",
    ],
)
def test_other_files_are_no_traces(head: bytes) -> None:
    assert not looks_like_trace(head)


@pytest.mark.parametrize(
    "odd",
    [
        {"entries": None, "pg_status": {}},
        {"entries": ["x", 3], "pg_config": [], "pg_status": None},
        {
            "entries": [{"profiling_name": None, "process_group": None, "input_sizes": [3], "frames": {}}],
            "pg_config": {"0": 4},
        },
        {"entries": [{"profiling_name": "nccl:send", "is_p2p": True, "p2p_seq_id": "x"}]},
    ],
)
def test_odd_fields_do_no_harm(odd: object) -> None:
    flight = read_flight(pickled(odd), "nccl_trace_rank_0", 0)

    assert flight is None or len(flight.traces) == 1
