"""Which of several suspects it was: groups of ranks, devices, launchers, clocks in other zones, NCCL's RAS."""

from __future__ import annotations

from tests.derive.scenes import attempts_of, comm, raised, tell, timeout

SRUN = "srun: error: gpu-01: task"
THROTTLED = "step 20 compute 3400 ms, wait 11 ms, SM clock 990 MHz, HW thermal slowdown active"


def waits(rank: int, place: int, group: str, numbers: tuple[int, int] = (4096, 4096), op: str = "ALLREDUCE") -> str:
    """Write the watchdog line of a rank that waits at a place of a smaller group."""
    return (
        f"[rank{rank}]:[E1103 12:10:00.500000 ProcessGroupNCCL.cpp:632] [PG ID 3 PG GUID {group} Rank {place}] "
        f"Watchdog caught collective operation timeout: WorkNCCL(SeqNum=90, OpType={op}, NumelIn={numbers[0]}, "
        f"NumelOut={numbers[1]}, Timeout(ms)=600000) ran for 600040 milliseconds before timing out."
    )


def test_the_gap_in_one_tensor_group_is_the_rank_that_stayed_away() -> None:
    told = tell(comm(0, 16), *(waits(8 + place, place, "6(TP)") for place in range(8) if place != 3))

    assert told.rank == 11


def test_whom_one_group_misses_and_another_shows_waiting_holds_up_nobody() -> None:
    tensor = [waits(place, place, "5(TP)") for place in range(8) if place != 3]
    data = [waits(3, 0, "9(DP)", (8192, 4096), "_REDUCE_SCATTER_BASE")]
    other = [waits(8 + place, place, "6(TP)") for place in range(8) if place != 3]

    assert tell(comm(0, 16), *tensor, *data, *other).rank == 11


def test_groups_of_one_number_are_told_apart_by_what_they_are() -> None:
    tensor = [waits(8 + place, place, "6(TP)") for place in range(8) if place != 3]
    data = [waits(3, 0, "6(DP)", (8192, 4096), "_REDUCE_SCATTER_BASE")]

    assert tell(comm(0, 16), *data, *tensor).rank == 11


def test_the_last_place_of_a_group_of_unknown_size_is_no_gap() -> None:
    told = tell(comm(0, 16), *(waits(8 + place, place, "6(TP)") for place in range(7)))

    assert told.rank is None


def test_the_one_rank_that_says_its_device_is_throttled_makes_all_others_wait() -> None:
    told = tell(
        *(f"[rank{rank}]: step 20 compute 1692 ms, wait 1700 ms" for rank in (0, 1, 2)), f"[rank3]: {THROTTLED}"
    )

    assert told.rank == 3


def test_where_several_devices_are_throttled_none_is_the_slow_one() -> None:
    assert tell(*(f"[rank{rank}]: {THROTTLED}" for rank in (0, 1))).rank is None


def test_a_slow_device_does_not_explain_what_another_rank_raised() -> None:
    told = tell(f"[rank3]: {THROTTLED}", raised("KeyError: 'x'", 1), "[rank0]: step 20 compute 1692 ms")

    assert told.rank == 1
    assert "slow-device" not in told.relations


def test_a_task_that_was_killed_before_srun_ended_any_began_it() -> None:
    told = tell(
        comm(0, 4), f"{SRUN} 2: Killed", f"{SRUN}s 0-1,3: Aborted (core dumped)", "srun: Terminating StepId=4.0"
    )

    assert told.rank == 2
    assert "killed-first" in told.relations


def test_a_task_that_was_killed_after_another_had_failed_only_follows() -> None:
    told = tell(comm(0, 4), f"{SRUN} 1: Exited with exit code 1", "srun: Terminating StepId=4.0", f"{SRUN} 2: Killed")

    assert told.rank == 1


def test_many_tasks_that_abort_after_the_error_of_another_began_nothing() -> None:
    told = tell(comm(0, 4), f"{SRUN} 3: Exited with exit code 1", f"{SRUN}s 0-2: Aborted (core dumped)")

    assert told.rank == 3


def test_a_traceback_some_lines_after_an_ignored_one_is_a_failure() -> None:
    noise = ["Exception ignored in: <function _ConnectionBase.__del__ at 0x7f21c4b0d440>", *["text"] * 8]

    assert tell(*noise, raised("KeyError: 'x'")).began.event is not None
    assert tell(noise[0], raised("KeyError: 'x'")).began.event is None


def test_a_host_in_another_time_zone_fails_no_later_for_it() -> None:
    def node(first: int, hours: int, *lines: str) -> str:
        ranks = (
            f"2025-11-03 {12 + hours}:00:0{rank - first},100 [rank{rank}]: setup" for rank in range(first, first + 2)
        )
        return "\n".join((*ranks, *lines)) + "\n"

    waiting = (timeout(rank, 660) for rank in (0, 1))
    stamp = "2025-11-03 19:01:00,500 [rank2]: "
    failed = (f"{stamp}step", raised("KeyError: 'x'", 2), f"{stamp}closing")

    (told,) = attempts_of(gpu_01_log=node(0, 0, *waiting), gpu_02_log=node(2, 7, *failed))
    assert told.rank == 2
    assert told.began.event is not None  # by what it raised, rather than by its silence


def test_ras_names_the_rank_that_launched_fewer_operations() -> None:
    told = tell(
        "#0-0 (27a079b828ff1a75) MISMATCH",
        "  3 ranks have launched up to operation 6650",
        "  1 ranks have launched up to operation 6640",
        "  Rank 2 -- GPU 2 managed by process 483074 on node 172.16.64.210",
    )
    assert told.rank == 2
    assert tell("#0-0 (27a079b828ff1a75) MISMATCH", "  4 ranks have launched up to operation 6650").rank is None


def test_the_device_that_idles_while_all_others_spin_is_the_one_they_wait_for() -> None:
    assert tell(*_smi(100, 100, 0, 100)).rank == 2
    assert tell(*_smi(100, 0, 0, 100)).rank is None


def _smi(*use: int) -> list[str]:
    """Write the rows of a table of nvidia-smi."""
    lines: list[str] = []
    for gpu, percent in enumerate(use):
        lines.append(f"|   {gpu}  A100-SXM4-40GB      On   | 00000000:{gpu + 7:02d}:00.0 Off |                    0 |")
        lines.append(f"| N/A   42C    P0    61W / 400W |  31120MiB / 40536MiB |    {percent:3}%      Default |")
    return lines


def test_the_rank_with_other_counts_than_all_others_differs() -> None:
    reports = (
        f"[rank{rank}]: RuntimeError: DDP expects same model across all ranks, but Rank {rank} has 148 params, "
        f"while rank {other} has inconsistent {count} params."
        for rank, other, count in ((0, 3, 150), (1, 0, 148))
    )

    assert tell(*reports).rank == 3


def test_a_report_of_a_desync_names_who_was_late_though_it_follows_the_time_out() -> None:
    told = tell(
        *(timeout(rank, 600) for rank in range(3)),
        "[rank0]:[E1103 12:10:01.500000 ProcessGroupNCCL.cpp:1580] [PG 0 Rank 0] \t - To our best knowledge, the "
        "lagging/dead/mismatched ranks that caused the desync are:",
        "\t   - [1] finished collective #89, but didn't join collective #90 (count from 1)",
        "\t - Snapshot of ranks' latest states:",
        "\t   - [0, 2] joined but didn't finish collective #90: ALLREDUCE",
    )
    assert told.rank == 1


def test_ranks_that_fall_silent_after_an_exception_are_no_lost_node() -> None:
    told = tell(comm(0, 8), raised("KeyError: 'x'", 5), *(timeout(rank, 600) for rank in (0, 1, 2, 3, 4)))

    assert told.rank == 5
    assert "missing-reporter" not in told.relations


def test_a_pod_is_the_host_whose_ranks_it_shows() -> None:
    lines = [comm(rank, 4, "gpu-01" if rank < 2 else "gpu-02", rank % 2) for rank in (0, 1, 3)]
    failed = "E1103 12:00:01.5 4100 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 1) "
    own = f"{timeout(2, 600)}\n{failed}local_rank: 1 (pid: 9) of binary: p\n"

    (told,) = attempts_of(**{"train_log": "\n".join(lines) + "\n", "run-worker-0_log": own})
    assert [rank for rank, _ in told.scene.exits] == [3]
