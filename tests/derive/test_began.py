"""Who began it: order, class and relations, told by small logs."""

from __future__ import annotations

import pytest

from tests.derive.scenes import attempts_of, clock, comm, dmesg, entry, lost, raised, tell, timeout

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79 GiB"
XID79 = "NVRM: Xid (PCI:0000:4f:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
KILLED = "Memory cgroup out of memory: Killed process 4202 (python3.11) total-vm:9kB, anon-rss:9kB"
BYSTANDER = (
    "[rank1]: RuntimeError: Rank 1 successfully reached monitoredBarrier, but received errors while waiting for "
    "send/recv from rank 0. Please check rank 0 logs for faulty rank."
)
STATUS_12 = (
    "0: gpu-07:4204:4300 [0] ib_plugin.c:1234 NCCL WARN NET/IB : Got completion from peer 10.0.0.7<41234> with "
    "status=12 opcode=1 len=0 vendor err 129 (Recv)"
)
REMOTE = (
    "[rank1]: torch.distributed.DistBackendError: NCCL error in: a.cpp:1, remote process exited or there was a "
    "network error, NCCL version 2.21.5"
)
BLOCK = "Root Cause (first observed failure):\n[0]:\n"


@pytest.mark.parametrize(
    ("lines", "rank"),
    [
        pytest.param([raised(OOM, 3), timeout(0, 602), timeout(1, 602), timeout(2, 602)], 3, id="own exception"),
        pytest.param([lost(0), lost(1), raised("KeyError: 'x'", 2)], 2, id="lost peers printed first"),
        pytest.param([raised("ValueError: empty", 1), lost(0), BLOCK + entry(0, 1)], 1, id="block names a victim"),
        pytest.param([lost(0), "free(): invalid pointer", BLOCK + entry(1, -6)], 1, id="abort by heap corruption"),
        pytest.param([lost(0), lost(2), BLOCK + entry(1, -11)], 1, id="segmentation fault without a line"),
        pytest.param([comm(r, 4) for r in range(4)] + [lost(0), dmesg(KILLED, 1)], 2, id="killed process"),
        pytest.param(
            [comm(1, 2, bus="4f000"), comm(0, 2, bus="1b000"), dmesg(XID79, 1), lost(0)],
            1,
            id="device by its bus",
        ),
        pytest.param([timeout(r, 600) for r in (0, 1, 3)] + [comm(0, 4)], 2, id="missing reporter"),
        pytest.param([timeout(0, 600), timeout(1, 600), timeout(2, 600, seq=89)], 2, id="smaller sequence number"),
        pytest.param([timeout(0, 600), timeout(1, 600), timeout(2, 600, op="BROADCAST")], 2, id="other operation"),
        pytest.param([timeout(0, 600), timeout(1, 600), timeout(2, 600, numel=8)], 2, id="other size"),
        pytest.param([timeout(0, 600), timeout(1, 600, op="BROADCAST")], None, id="one against one"),
        pytest.param([timeout(0, 600), timeout(1, 600, op="BARRIER")], 1, id="a barrier against training"),
        pytest.param([timeout(r, 600) for r in range(4)] + [comm(0, 4)], None, id="all in the same collective"),
        pytest.param([raised("KeyError: 'lr'", r) for r in range(4)], None, id="all ranks alike"),
        pytest.param([raised("KeyError: 'lr'")], None, id="a job of one rank"),
        pytest.param(
            ["RuntimeError: Ranks 1, 2 failed to pass monitoredBarrier in 8000 ms", raised("KeyError: 'x'", 2)],
            2,
            id="an exception explains what a barrier locates",
        ),
        pytest.param(
            [
                "[rank0]: RuntimeError: [Rank 0]: Ranks 1 failed to pass monitoredBarrier in 8000 ms",
                BYSTANDER,
            ],
            None,
            id="the accused reached a barrier too",
        ),
        pytest.param(
            ["[rank0]: RuntimeError: disagreement between rank0 and rank1: rank0: [4, 12], rank1: [4, 13]"],
            None,
            id="a reporter is no culprit",
        ),
        pytest.param(
            [
                STATUS_12,
                "1: [rank1]: x",
                REMOTE,
            ],
            None,
            id="a link has two ends",
        ),
    ],
)
def test_the_rank_that_began_it(lines: list[str], rank: int | None) -> None:
    assert tell(*lines).rank == rank


def test_a_scheduler_limit_does_not_win_over_an_earlier_exception() -> None:
    told = tell(
        "[rank2]:[E1103 12:00:00.5 x.cpp:1] text",
        raised("KeyError: 'x'", 2),
        f"slurmstepd: error: *** JOB 4242 ON n1 CANCELLED AT 2025-11-03T{clock(900)[:8]} DUE TO TIME LIMIT ***",
    )
    assert told.rank == 2
    assert told.began.event is not None
    assert told.began.event.kind == "exception"


def test_an_exception_after_the_time_out_is_a_consequence() -> None:
    told = tell(timeout(0, 600), timeout(1, 600), timeout(3, 600), comm(0, 4), raised("ValueError: closed", 1))
    assert told.rank == 2


def test_a_process_that_lost_its_peer_began_nothing_by_what_it_raises_then() -> None:
    told = tell(lost(1), raised("ValueError: state is gone", 1), lost(0), comm(0, 3), comm(2, 3))
    assert told.rank is None


def test_an_exception_that_the_run_survived_is_background() -> None:
    told = tell("[rank1]: step 1 loss 2.0", raised("ConnectionError: retry", 1), "[rank1]: step 2 loss 1.9")
    assert told.began.initiating is None


def test_a_rank_that_ended_without_error_left_early() -> None:
    told = tell(
        "[rank0]: nothing to resume",
        lost(1),
        lost(2),
        "W1103 12:00:01.513000 4100 torch/distributed/elastic/multiprocessing/api.py:1028] Sending process 4202 "
        "closing signal SIGTERM",
        "E1103 12:00:01.549000 4100 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 1) "
        "local_rank: 1 (pid: 4201) of binary: p",
        "Failures:\n[1]:\n" + entry(2, 1),
        BLOCK + entry(1, 1),
    )
    assert told.rank == 0
    assert "rank-exited-early" in told.relations


def test_deepspeed_names_the_command_it_started_last_whoever_was_killed() -> None:
    told = tell(
        *(comm(rank, 4) for rank in range(4)),
        "[2025-11-03 12:00:05,420] [ERROR] [launch.py:321:sigkill_handler] ['python', '-u', 'a.py', '--local_rank=3'] "
        "exits with return code = -9",
    )
    assert told.rank is None
    assert told.began.initiating is not None


def test_the_rank_whose_last_line_is_work_of_its_own_is_waited_for() -> None:
    steps = [f"[rank{rank}]: step {step} loss 2.0" for step in (1, 2) for rank in (0, 1)]
    stop = "W1103 12:00:01.0 1 torch/x.py:1] Sending process 4201 closing signal SIGINT"
    assert tell(*steps, "[rank0]: saving checkpoint at 2", stop).rank == 0
    assert tell(*steps, "[rank0]: saving checkpoint at 2").began.initiating is None  # nothing has failed


def test_every_conclusion_points_at_a_line_and_says_why() -> None:
    began = tell(raised(OOM, 3), timeout(0, 602), timeout(1, 602)).began.initiating
    assert began is not None
    assert (began.file, began.line) == ("train.log", 4)
    assert began.why
    assert 0 < began.confidence <= 1


def test_a_line_without_a_stamp_is_dated_by_the_end_of_its_process() -> None:
    told = attempts_of(
        rank1_log="2025-11-03 12:00:00,000 - t - INFO - step 1\n" + raised("KeyError: 'x'", 1) + "\n",
        rank9_log="2025-11-03 12:00:30,000 - t - INFO - step 1\n" + raised(OOM, 9) + "\n",
        agent_log="\n".join(
            (
                "E1103 12:05:00.000000 1 torch/x.py:1] failed (exitcode: 1) local_rank: 1 (pid: 4201) of binary: p",
                entry(1, 1, "gpu-01").replace("12:10:03", "12:05:00"),
                "E1103 12:00:40.000000 2 torch/x.py:1] failed (exitcode: 1) local_rank: 1 (pid: 4209) of binary: p",
                entry(9, 1, "gpu-02", 1).replace("12:10:03", "12:00:40"),
            )
        ),
    )[-1]
    assert told.rank == 9
