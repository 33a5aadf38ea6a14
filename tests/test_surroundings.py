"""What stands beside a job's log: the scheduler's accounts, records of the machine, other people's jobs."""

from __future__ import annotations

from pathlib import Path

import pytest

from denpex_kb import KnowledgeBase

HEAD = "JobID  JobName  Partition  Account  AllocCPUS  State ExitCode\n"
EXTERN = "4242.exte+     extern                  acct         64  COMPLETED      0:0\n"


def verdict(kb: KnowledgeBase, folder: Path, **files: str) -> str:
    for name, text in files.items():
        (folder / f"{name}.txt").write_text(text)
    diagnosis = kb.diagnose(folder)
    return diagnosis.hypotheses[0].id if diagnosis.hypotheses else diagnosis.verdict


@pytest.mark.parametrize(
    ("state", "code", "expected"),
    [
        ("FAILED", "1:0", "unknown"),
        ("CANCELLED+", "0:0", "unknown"),
        ("TIMEOUT", "0:0", "slurm-time-limit"),
        ("COMPLETED", "0:0", "healthy"),
    ],
)
def test_a_step_that_ended_well_does_not_make_its_job_healthy(
    kb: KnowledgeBase, tmp_path: Path, state: str, code: str, expected: str
) -> None:
    job = f"4242            train        gpu       acct         64 {state:>10} {code:>8}\n"
    assert verdict(kb, tmp_path, sacct=HEAD + job + EXTERN) == expected


XID = "NVRM: Xid (PCI:0000:1b:00): 79, pid=999, GPU has fallen off the bus.\n"
KILLED = (
    "Out of memory: Killed process 999 (chrome) total-vm:1234kB, anon-rss:100kB, file-rss:0kB, shmem-rss:0kB,"
    " UID:1000 pgtables:100kB oom_score_adj:300\n"
)
STEPS = "".join(f"2026-11-30 10:{minute:02d}:07 INFO step {minute}/60 loss 2.1\n" for minute in range(50))
ENDED = "2026-11-30 10:50:07 INFO training finished\n"
RAISED = (
    "2026-11-30 10:50:07 ERROR crashed\n"
    'Traceback (most recent call last):\n  File "/home/u/train.py", line 12, in <module>\n    main()\n'
    "KeyError: 'learning_rate'\n"
)
DAYS_BEFORE, HOURS_BEFORE = "[Sat Nov 28 03:07:11 2026] ", "[Mon Nov 30 03:00:07 2026] "


@pytest.mark.parametrize("when", [DAYS_BEFORE, HOURS_BEFORE])
def test_an_old_record_of_the_machine_does_not_explain_an_exception_of_today(
    kb: KnowledgeBase, tmp_path: Path, when: str
) -> None:
    assert verdict(kb, tmp_path, dmesg=when + XID, train=STEPS + RAISED) == "unknown"


def test_a_record_of_the_time_of_the_failure_explains_it(kb: KnowledgeBase, tmp_path: Path) -> None:
    record = "[Mon Nov 30 10:49:50 2026] " + XID
    assert verdict(kb, tmp_path, dmesg=record, train=STEPS) == "gpu-xid-79-fell-off-bus"


@pytest.mark.parametrize("record", [DAYS_BEFORE + XID, "[  123.456789] " + XID, "[Mon Nov 30 10:20:00 2026] " + KILLED])
def test_a_run_that_ended_well_outlived_what_the_machine_recorded(
    kb: KnowledgeBase, tmp_path: Path, record: str
) -> None:
    assert verdict(kb, tmp_path, dmesg=record, train=STEPS + ENDED) == "healthy"


def test_a_record_stands_where_one_of_two_files_stops_in_mid_flight(kb: KnowledgeBase, tmp_path: Path) -> None:
    record = "[Mon Nov 30 10:49:50 2026] " + XID
    assert verdict(kb, tmp_path, dmesg=record, rank0=STEPS + ENDED, rank1=STEPS) == "gpu-xid-79-fell-off-bus"


def test_what_is_passed_over_for_its_date_is_said(kb: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "dmesg.txt").write_text(DAYS_BEFORE + XID)
    (tmp_path / "train.log").write_text(STEPS)
    diagnosis = kb.diagnose(tmp_path)
    assert not diagnosis.hypotheses
    assert any(note.startswith("dmesg.txt:1 is more than 14 hours") for note in diagnosis.input.notes)


def rank_log(rank: int, *, reports: bool) -> str:
    steps = "".join(f"2026-11-30 10:0{minute}:07 [rank{rank}] step {minute}/60 loss 2.1\n" for minute in range(10))
    told = (
        f"2026-11-30 10:20:07 [rank{rank}]:[E1130 10:20:07.000 ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught"
        " collective operation timeout: WorkNCCL(SeqNum=1200, OpType=ALLREDUCE, NumelIn=1000, NumelOut=1000,"
        " Timeout(ms)=600000) ran for 600010 milliseconds before timing out.\n"
    )
    return f"[rank{rank}] world_size=8\n" + steps + (told if reports else "")


def test_ranks_whose_logs_were_not_handed_in_are_not_accused(kb: KnowledgeBase, tmp_path: Path) -> None:
    for rank in (0, 1, 2, 4, 6):
        (tmp_path / f"rank_{rank}.log").write_text(rank_log(rank, reports=True))
    assert kb.diagnose(tmp_path).initiating is None


def test_a_rank_that_is_silent_in_its_own_log_is_told_from_those_without_one(kb: KnowledgeBase, tmp_path: Path) -> None:
    for rank in (0, 1, 2, 4, 5, 6):
        (tmp_path / f"rank_{rank}.log").write_text(rank_log(rank, reports=rank != 5))
    initiating = kb.diagnose(tmp_path).initiating
    assert initiating is not None
    assert initiating.rank == 5


ACCOUNTS = (
    HEAD
    + "4240            train        gpu       acct         64 OUT_OF_ME+    0:125\n"
    + "4241            train        gpu       acct         64    TIMEOUT      0:0\n"
    + "4242            train        gpu       acct         64  COMPLETED      0:0\n"
)


def test_accounts_of_several_jobs_do_not_say_which_is_meant(kb: KnowledgeBase, tmp_path: Path) -> None:
    assert verdict(kb, tmp_path, sacct=ACCOUNTS) == "unknown"


def test_accounts_of_other_jobs_do_not_spoil_a_run_that_ended_well(kb: KnowledgeBase, tmp_path: Path) -> None:
    assert verdict(kb, tmp_path, sacct=ACCOUNTS, train=STEPS + ENDED) == "healthy"


def test_the_account_of_the_job_that_a_file_is_named_after_counts(kb: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "slurm-4241.out").write_text(STEPS)
    assert verdict(kb, tmp_path, sacct=ACCOUNTS) == "slurm-time-limit"


IGNORED = (
    "Exception ignored in: <function _MultiProcessingDataLoaderIter.__del__ at 0x7f1234567890>\n"
    "Traceback (most recent call last):\n"
    '  File "/opt/venv/lib/python3.11/site-packages/torch/utils/data/dataloader.py", line 1600, in __del__\n'
    "    self._shutdown_workers()\n"
    "AssertionError: can only test a child process\n"
)


def test_an_exception_that_the_interpreter_ignores_began_nothing(kb: KnowledgeBase, tmp_path: Path) -> None:
    assert verdict(kb, tmp_path, train=STEPS + ENDED + IGNORED) == "healthy"


def test_an_exception_behind_an_ignored_one_counts(kb: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(STEPS + IGNORED + RAISED)
    initiating = kb.diagnose(tmp_path).initiating
    assert initiating is not None
    assert initiating.text.endswith("KeyError: 'learning_rate'")


OUT_OF_MEMORY = (
    'Traceback (most recent call last):\n  File "/opt/optuna/study/_optimize.py", line 197, in _run_trial\n'
    "    value_or_values = func(trial)\n"
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB"
    " of which 1.00 GiB is free.\n"
)


def test_a_search_that_goes_on_after_a_failed_trial_survived_it(kb: KnowledgeBase, tmp_path: Path) -> None:
    trials = [
        f"[I 2026-11-30 10:0{number}:00,000] Trial {number} finished with value: 0.9 and parameters: {{'lr': 0.1}}."
        " Best is trial 0 with value: 0.9.\n"
        for number in range(9)
    ]
    assert verdict(kb, tmp_path, search="".join(trials[:4]) + OUT_OF_MEMORY + "".join(trials[5:])) == "unknown"


@pytest.mark.parametrize(("counts", "expected"), [("30 passed", "healthy"), ("1 failed, 29 passed", "cuda-oom")])
def test_errors_that_tests_provoke_are_no_failure_where_all_of_them_passed(
    kb: KnowledgeBase, tmp_path: Path, counts: str, expected: str
) -> None:
    log = (
        "tests/test_memory.py::test_a_batch_that_is_too_big PASSED\n"
        "ERROR    root:memory.py:3 CUDA out of memory. Tried to allocate 20.00 MiB\n"
        f"============================== {counts} in 3.21s ==============================\n"
    )
    assert verdict(kb, tmp_path, tests=log).startswith(expected)
