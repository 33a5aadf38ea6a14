"""Relations that an exception of a rank's own makes, or keeps from holding."""

from __future__ import annotations

import pytest
from msgspec import structs

from denpex_kb.derive.events import classify
from denpex_kb.derive.relations import relations_of
from denpex_kb.model.entry import Strength
from denpex_kb.model.events import Match
from denpex_kb.model.rules import Rule, RuleSet, RuleSignature, ScanPattern
from tests.derive.scenes import _tools, attempts_of, clock, comm, raised, tell, timeout

REMOTE = (
    "torch.distributed.DistBackendError: NCCL error in: a.cpp:1, remote process exited or there was a network error"
)
DUMP = (
    f"[rank3]:[E1103 {clock(601)} ProcessGroupNCCL.cpp:1682] [PG ID 0 PG GUID 0(default_pg) Rank 3] Observed flight "
    "recorder dump signal from another rank via TCPStore."
)
OTHERS = [timeout(rank, 602) for rank in (0, 1, 2)]
WORLD = comm(0, 4)


@pytest.mark.parametrize(
    ("lines", "silent"),
    [
        pytest.param([WORLD, *OTHERS], True, id="nothing but silence"),
        pytest.param([WORLD, raised(REMOTE, 3), *OTHERS], False, id="it lost a peer before"),
        pytest.param([WORLD, raised("KeyError: 'x'", 3), *OTHERS], False, id="an exception of its own before"),
        pytest.param([WORLD, *OTHERS, raised(REMOTE, 3)], True, id="it met the loss of the others"),
        pytest.param([WORLD, *OTHERS, raised("KeyboardInterrupt", 3)], True, id="interrupted at the end"),
        pytest.param([WORLD, DUMP, *OTHERS], True, id="its monitor took part in a dump"),
    ],
)
def test_a_rank_that_fell_before_the_time_out_is_no_missing_reporter(lines: list[str], silent: bool) -> None:
    assert ("missing-reporter" in tell(*lines).relations) is silent


@pytest.mark.parametrize(
    ("error", "silent"),
    [
        pytest.param(REMOTE, True, id="the loss of a peer may have come last"),
        pytest.param("KeyError: 'x'", False, id="an exception of its own"),
    ],
)
def test_an_undated_exception_in_another_file(error: str, silent: bool) -> None:
    files = {f"rank{rank}_log": f"{comm(rank, 4)}\n{timeout(rank, 602)}\n" for rank in (0, 1, 2)}
    (told,) = attempts_of(**files, rank3_log=f"{comm(3, 4)}\n{raised(error)}\n")

    assert ("missing-reporter" in told.relations) is silent


def test_an_exception_that_progress_followed_does_not_end_the_silence() -> None:
    retried = [raised("ConnectionError: the hub did not answer", 3), "[rank3]: step 10 loss 2.0", "[rank3]: step 11"]
    lines = [WORLD, *retried, *(f"[rank{rank}]: step 11 loss 2.0" for rank in (0, 1, 2, 3)), *OTHERS]

    assert "missing-reporter" in tell(*lines).relations


UNAVAILABLE = "jaxlib.xla_extension.XlaRuntimeError: UNAVAILABLE: "
DEADLINE = "jaxlib.xla_extension.XlaRuntimeError: DEADLINE_EXCEEDED: "


@pytest.mark.parametrize(
    "line",
    [
        UNAVAILABLE + "Failed to send RPC to coordination service. Either the leader task was preempted",
        UNAVAILABLE + "heartbeat timeout. This indicates that the remote task has failed, got preempted, or crashed",
        DEADLINE + "Barrier timed out. Id: [Init]Wait_for_all_tasks_to_register::0",
        DEADLINE + "Deadline Exceeded RPC: /tensorflow.CoordinationService/RegisterTask",
        REMOTE,
    ],
)
def test_the_loss_of_a_peer_is_no_exception_of_the_ranks_own(line: str) -> None:
    assert "local-exception" not in tell("world_size=2", WORLD, raised(line, 1)).relations


def test_an_exception_of_its_own_in_a_job_of_several() -> None:
    assert "local-exception" in tell(WORLD, raised("KeyError: 'x'", 1)).relations


@pytest.mark.parametrize(
    ("role", "strength", "own"),
    [
        ("collateral", "decisive", False),
        ("collateral", "supporting", True),
        ("initiating", "decisive", True),
    ],
)
def test_a_line_that_an_entry_of_consequences_knows_for_certain_is_no_exception_of_its_own(
    role: str, strength: Strength, own: bool
) -> None:
    told = tell(WORLD, raised("WidgetError: the peer is gone", 1))
    _, held, _ = _tools()
    names = ("peer-gone", "exception-of-a-widget")
    rules = RuleSet(
        (_rule(names[0], role, strength), _rule(names[1], "initiating", "strong")),
        (*held.patterns, *(ScanPattern("WidgetError", None, "log", "signature", name, "line") for name in names)),
    )
    seen = [
        structs.replace(item, matches=(*item.matches, *(Match(len(held.patterns) + at) for at in range(2))))
        if item.line.text.startswith("WidgetError")
        else item
        for item in told.seen
    ]
    events = classify(
        seen, rules, frozenset({"peer-gone"} if role == "collateral" else ()), told.ranks, told.scene.clocks
    )
    (event,) = [event for event in events if event.kind == "exception"]

    assert event.follows is not own
    relations = relations_of(told.scene, structs.replace(told.began, event=event))
    assert ("local-exception" in relations) is own


def _rule(name: str, role: str, strength: Strength) -> Rule:
    signature = RuleSignature("line", strength, "pattern", (), (), "line", None, None)
    return Rule(name, "", "", "", "", role, "specific", "rare", None, (signature,), (), (), "")
