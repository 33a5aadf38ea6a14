"""Attempts, incidents, clocks and the table of ranks."""

from __future__ import annotations

import pytest

from denpex_kb.derive.clocks import without_zone
from tests.derive.scenes import attempts_of, comm, dmesg, raised, tell, timeout

RESTART = (
    "I1103 12:01:00.083000 4242 torch/distributed/elastic/agent/server/api.py:889] [default] Worker group FAILED. "
    "2/3 attempts left; will restart worker group"
)
FAULT = "KeyError: 'input_ids'"


def test_a_restart_begins_another_attempt_and_each_is_concluded() -> None:
    first, second = attempts_of(
        train_log="\n".join([raised("ValueError: first", 1), RESTART, "[rank0]: x", raised(FAULT, 0)]) + "\n"
    )
    assert (first.rank, second.rank) == (1, 0)
    assert "same-cause-each-attempt" not in second.relations


def test_two_attempts_that_fail_alike_will_fail_again() -> None:
    last = attempts_of(train_log="\n".join([raised(FAULT, 1), RESTART, raised(FAULT, 1)]) + "\n")[-1]
    assert "same-cause-each-attempt" in last.relations


def test_a_file_without_marks_is_cut_at_the_time_that_others_show() -> None:
    first, second = attempts_of(
        agent_log="E1103 12:00:59.0 1 torch/x.py:1] failed (exitcode: 1) local_rank: 1 (pid: 1) of binary: python\n"
        + RESTART
        + "\n",
        rank1_log="[rank1]:[W1103 12:00:01.0 a.cpp:1] x\n"
        + raised("ValueError: first", 1)
        + "\n[rank1]:[W1103 12:01:10.0 a.cpp:1] x\n"
        + raised(FAULT, 1)
        + "\n",
    )
    assert first.began.event is not None
    assert second.began.event is not None
    assert "first" in first.began.event.line.text
    assert "input_ids" in second.began.event.line.text


def test_failures_of_two_hosts_that_explain_one_another_not_are_two_incidents() -> None:
    told = attempts_of(
        train_log="\n".join(
            [
                *(comm(rank, 16, "n1" if rank < 8 else "n2", rank % 8) for rank in (0, 7, 8, 15)),
                "[rank3]:[W1103 12:00:00.0 a.cpp:1] x",
                raised("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", 3),
                "[rank9]:[W1103 12:00:47.0 a.cpp:1] x",
                "===== n2: dmesg -T =====",
                dmesg("NVRM: Xid (PCI:0000:4f:00): 95, pid=4210, name=python, Uncontained: FBHUB", 48),
            ]
        )
        + "\n"
    )[-1]
    assert [case.began.initiating.rank for case in told.incidents if case.began.initiating] == [3, 10]


def test_a_record_of_the_same_host_explains_what_was_printed_shortly_before_it() -> None:
    told = attempts_of(
        train_log="\n".join(
            [
                comm(0, 2, "n1", 0, "1b000"),
                comm(1, 2, "n1", 1, "4f000"),
                "[rank1]:[E1103 12:00:00.0 a.cpp:1] x",
                raised("RuntimeError: CUDA error: unspecified launch failure", 1),
                "===== n1: dmesg -T =====",
                dmesg(
                    "NVRM: Xid (PCI:0000:4f:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.", 2
                ),
            ]
        )
        + "\n"
    )[-1]
    assert told.began.event is not None
    assert told.began.event.kind == "hardware"
    assert told.rank == 1
    assert len(told.incidents) == 1


def test_the_table_of_ranks() -> None:
    told = tell(*(comm(rank, 4) for rank in range(3)), timeout(0, 600), timeout(1, 600))
    assert told.states == {0: "collateral", 1: "collateral", 2: "initiating", 3: "initiating"}
    told = tell(raised(FAULT, 1), timeout(0, 600), timeout(2, 600), timeout(4, 600), comm(3, 6))
    assert told.states == {
        0: "collateral",
        1: "initiating",
        2: "collateral",
        3: "silent",
        4: "collateral",
        5: "unknown",
    }


def test_clean_scenes_have_no_initiating_rank() -> None:
    told = tell("[rank0]: step 1 loss 2.0", "[rank0]: step 2 loss 1.9", "training finished")
    assert told.began.initiating is None
    assert told.state.outcome == "completed"


@pytest.mark.parametrize(
    ("gap", "same"), [(3.0, 3.0), (7203.0, 3.0), (-19799.0, 1.0), (700.0, 700.0), (90000.0, 90000.0)]
)
def test_a_gap_of_whole_quarters_is_another_zone(gap: float, same: float) -> None:
    assert without_zone(gap) == pytest.approx(same)
