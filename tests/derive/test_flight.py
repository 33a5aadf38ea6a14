"""Faults injected into traces of the flight recorder: every one is found, and its rank is named."""

from __future__ import annotations

import json
import pickle

import pytest

from denpex_kb.derive.flight import compare_traces
from denpex_kb.model.flight import Trace
from denpex_kb.read.flight import read_flight
from tests.flight_faults import FAULTS, Job, healthy, rank_left_no_dump, rank_never_called, subgroup_blocks_world


def traces_of(job: Job, *, as_json: bool = False) -> list[Trace]:
    traces: list[Trace] = []
    for rank, dump in job.dumps().items():
        data = json.dumps(dump, indent=2).encode() if as_json else pickle.dumps(dump, protocol=2)
        flight = read_flight(data, f"nccl_trace_rank_{rank}", rank)
        assert flight is not None
        traces += flight.traces
    return traces


@pytest.mark.parametrize("as_json", [False, True], ids=["pickle", "json"])
@pytest.mark.parametrize("fault", list(FAULTS))
def test_an_injected_fault_is_found(fault: str, *, as_json: bool) -> None:
    make, name, ranks = FAULTS[fault]

    (relation,) = compare_traces(traces_of(make(), as_json=as_json))

    assert (relation.name, relation.ranks) == (name, ranks)
    assert relation.culprit is bool(ranks)
    assert relation.lines


def test_a_healthy_job_shows_nothing() -> None:
    assert compare_traces(traces_of(healthy())) == ()


def test_the_text_says_who_waits_where() -> None:
    (relation,) = compare_traces(traces_of(rank_never_called()))

    assert relation.text == "rank 3 never called all_reduce, sequence 4 of default_pg, in which ranks 0-2, 4-7 wait"


def test_a_missing_dump_keeps_what_its_absence_rests_on() -> None:
    (relation,) = compare_traces(traces_of(rank_left_no_dump()))

    assert relation.expected == tuple(range(8))
    assert relation.observed == (0, 1, 2, 3, 4, 6, 7)
    assert "default_pg" in relation.basis


def test_a_few_dumps_of_many_ranks_blame_nobody() -> None:
    job = rank_never_called(16, 3)
    job.lost = set(range(3, 16))

    assert compare_traces(traces_of(job)) == ()


def test_the_fault_of_a_sub_group_is_told_of_that_group() -> None:
    (relation,) = compare_traces(traces_of(subgroup_blocks_world()))

    assert "group 2" in relation.text
    assert "ranks 4, 6, 7" in relation.text


def test_what_differs_in_a_job_that_goes_on_is_passed_over() -> None:
    job = Job(2)
    for rank in range(2):
        job.call(rank, size=100 + rank)

    assert compare_traces(traces_of(job)) == ()


def test_a_completed_gather_of_uneven_parts_is_no_mismatch() -> None:
    job = rank_never_called(4, 2)
    for rank in range(4):
        job.entries[rank][1]["profiling_name"] = "nccl:all_gather"
        job.entries[rank][1]["input_sizes"] = [[10 + rank]]

    (relation,) = compare_traces(traces_of(job))

    assert (relation.name, relation.ranks) == ("rank-lags", (2,))


def test_sizes_may_differ_where_the_operation_lets_them() -> None:
    job = Job(4)
    for rank in range(4):
        job.call(rank, "all_to_all", size=100 + rank, state="started")

    (relation,) = compare_traces(traces_of(job))

    assert relation.name == "same-collective-everywhere"
