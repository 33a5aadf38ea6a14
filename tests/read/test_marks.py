"""Marks: the kinds of line that many failures share, and the healthy lines that are none of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from denpex_kb.catalog import patterns, yamlfile
from denpex_kb.model.kb import Mark
from denpex_kb.model.prefix import PrefixFormat
from denpex_kb.read.prefixes import PrefixReader

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "tests" / "corpus" / "dev"
FORMATS = yamlfile.read(
    (ROOT / "kb" / "prefixes.yaml").read_text(encoding="utf-8"), "prefixes", tuple[PrefixFormat, ...]
)
READER = PrefixReader(FORMATS)
MARKS = [
    mark
    for file in sorted((ROOT / "kb" / "marks").glob("*.yaml"))
    for mark in yamlfile.read(file.read_text(encoding="utf-8"), file.name, tuple[Mark, ...])
]
C10 = "[rank1]:[E1206 18:44:12.715298746 ProcessGroupNCCL.cpp:632] "
TIMEOUT = "Watchdog caught collective operation timeout: "
STATUS = " PG status: last enqueued work: 1582, last completed work: -1"
WORK = ", last enqueued NCCL work: 4, last completed NCCL work: 2."
ERRORS = {"hardware", "kernel", "scheduler", "exception", "crash", "mismatch"}


def groups_of(mark: Mark, message: str) -> dict[str, str] | None:
    match = re.search(mark.pattern, message)
    if match is None or (mark.unless and re.search(mark.unless, message)):
        return None
    return {name: value for name, value in zip(mark.gives, match.groups(), strict=False) if value}


def marks_of(line: str) -> dict[str, dict[str, str]]:
    message = READER.read(line).rest
    return {mark.id: groups for mark in MARKS if (groups := groups_of(mark, message)) is not None}


def kinds_of(line: str) -> set[str]:
    found = marks_of(line)
    return {mark.kind for mark in MARKS if mark.id in found}


@pytest.mark.parametrize("mark", MARKS, ids=lambda mark: mark.id)
def test_a_pattern_lies_in_the_common_subset_and_matches_its_examples_in_every_engine(mark: Mark) -> None:
    assert patterns.faults(mark.pattern) == []
    assert mark.unless is None or patterns.faults(mark.unless, scanned=False) == []
    assert len(mark.gives) <= re.compile(mark.pattern).groups
    assert mark.examples
    for line in mark.examples:
        assert mark.id in marks_of(line), line
        assert patterns.hyperscan_matches(mark.pattern, line), line


def test_every_pattern_matches_its_examples_in_javascript() -> None:
    pairs = [(mark.pattern, READER.read(line).rest) for mark in MARKS for line in mark.examples]

    bad = patterns.javascript_mismatches(pairs)

    assert [pairs[index] for index in bad or ()] == []


def test_ids_are_unique() -> None:
    ids = [mark.id for mark in MARKS]

    assert len(ids) == len(set(ids))


def test_collateral_says_why_it_follows_from_something_else() -> None:
    assert [mark.id for mark in MARKS if mark.kind in ("collateral", "teardown") and not mark.note] == []


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("[rank3]: ValueError: batch is empty", "ValueError"),
        ("KeyError: 'lr'", "KeyError"),
        ("AssertionError", "AssertionError"),
        ("torch.distributed.DistBackendError: NCCL error in: x.cpp:1", "torch.distributed.DistBackendError"),
        ("jax.errors.UnexpectedTracerError: Encountered an unexpected tracer.", "jax.errors.UnexpectedTracerError"),
        ("torch.cuda.OutOfMemoryError: CUDA out of memory.", "torch.cuda.OutOfMemoryError"),
        ("subprocess.TimeoutExpired: Command 'x' timed out", "subprocess.TimeoutExpired"),
        ("[default3]:[rank11]: RuntimeError: CUDA error: device-side assert triggered", "RuntimeError"),
    ],
)
def test_the_last_line_of_a_traceback_names_its_exception(line: str, name: str) -> None:
    assert marks_of(line)["exception-line"] == {"exception": name}


@pytest.mark.parametrize(
    "line",
    [
        "/opt/venv/lib/python3.11/site-packages/torch/optim/lr_scheduler.py:224: UserWarning: Detected call of x",
        "FutureWarning: `torch.cpu.amp.autocast(args...)` is deprecated.",
        "DeprecationWarning: the imp module is deprecated",
        "'(ReadTimeoutError(\"HTTPSConnectionPool(host='h', port=443): Read timed out.\"), '(Request ID: 1)')' thrown",
        "Error in atexit handler ignored: OSError: [Errno 16] Device or resource busy: '.nfs01'",
        "wandb: Network error (ConnectTimeout), entering retry loop.",
        "wandb: WARNING Tried to log to step 10 that is less than the current step 11.",
        "OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768",
        "gpu-07:4242:4300 [2] NCCL INFO NET/IB : Got non-fatal async event: port active(9)",
        "[W1130 17:21:22.588282160 socket.cpp:207] [c10d] The hostname of the client socket cannot be retrieved.",
        "[rank0]:[W704 01:18:09.4 x.cpp:1] WARNING: destroy_process_group() was not called before program exit",
        "gpu-07:4242:4400 [2] NCCL INFO [Service thread] Connection closed by localRank 3",
        "Resuming from checkpoint output/checkpoint-500",
        "    raise ChildFailedError(",
        "    raise RendezvousClosedError",
        "    except KeyError:",
        "[2025-11-03 12:00:01,123] [INFO] [launch.py:348:main] Process 1234 exits successfully.",
        "[    8.123456] NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.86",
    ],
)
def test_a_line_that_healthy_runs_print_is_no_error(line: str) -> None:
    assert kinds_of(line) & (ERRORS | {"collateral", "summary", "exit", "restart"}) == set()


@pytest.mark.parametrize(
    "line",
    [
        "we recommend to handle Xid 79 by a reboot",
        "INFO - the GPU has fallen off the bus once in this cluster",
        "ECC Error counters: 0",
    ],
)
def test_a_hardware_mark_needs_its_emitter(line: str) -> None:
    assert "hardware" not in kinds_of(line)


@pytest.mark.parametrize(
    ("xid", "kind"),
    [
        ("79", "hardware"),
        ("48", "hardware"),
        ("74", "hardware"),
        ("31", "crash"),
        ("45", "collateral"),
        ("43", "collateral"),
    ],
)
def test_an_xid_counts_by_its_number(xid: str, kind: str) -> None:
    found = kinds_of(
        f"[Sat Mar  7 03:12:44 2026] NVRM: Xid (PCI:0000:4f:00): {xid}, pid=4242, name=python, Ch 00000008"
    )

    assert found == {kind}


def test_an_xid_that_follows_from_another_is_collateral() -> None:
    found = kinds_of(
        "[1843.308145] NVRM: Xid (PCI:0000:0b:00): 149, pid=4242, name=x, Ch 0000000a caused by previous Xid 74"
    )

    assert found == {"collateral"}


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        (" DUE TO TIME LIMIT", "scheduler"),
        (" DUE TO PREEMPTION", "scheduler"),
        (" DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS", "scheduler"),
        (" DUE TO JOB REQUEUE", "restart"),
        (" DUE TO TASK FAILURE", "collateral"),
        ("", "teardown"),
    ],
)
def test_slurms_reason_decides_what_a_cancelled_job_means(reason: str, kind: str) -> None:
    assert kinds_of(f"slurmstepd: error: *** JOB 4242 ON n1 CANCELLED AT 2025-11-03T12:00:01{reason} ***") == {kind}


@pytest.mark.parametrize(
    ("line", "mark", "groups"),
    [
        (
            f"{C10}[Rank 0] {TIMEOUT}WorkNCCL(SeqNum=1580, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=60000)",
            "nccl-watchdog-timeout",
            {"seq": "1580", "op": "ALLREDUCE", "numel_in": "8", "numel_out": "8"},
        ),
        (
            f"[E x.cpp:475] [Rank 0] {TIMEOUT}WorkNCCL(SeqNum=15, OpType=_ALLGATHER_BASE, Timeout(ms)=1800000)",
            "nccl-watchdog-timeout",
            {"seq": "15", "op": "_ALLGATHER_BASE"},
        ),
        (
            f"{C10}[PG ID 2 PG GUID 9(ep) Rank 1]  failure detected by watchdog at work sequence id: 1580{STATUS}",
            "nccl-watchdog-status",
            {"group": "9(ep)", "seq": "1580", "enqueued": "1582", "completed": "-1"},
        ),
        (
            f"{C10}[PG 0 (default_pg) Rank 1] Timeout at NCCL work: 3{WORK}",
            "nccl-timeout-at-work",
            {"group": "0 (default_pg)", "seq": "3", "enqueued": "4", "completed": "2"},
        ),
        (
            "n7:42:43 [2] misc/socket.cc:915 NCCL WARN socketProgress: Connection closed by remote peer gpu-09<41234>",
            "nccl-socket-closed",
            {"peer": "gpu-09"},
        ),
        ("  rank      : 57 (local_rank: 1)", "block-rank", {"rank": "57", "local_rank": "1"}),
        ("  exitcode  : -15 (pid: 4243)", "block-exitcode", {"exitcode": "-15", "pid": "4243"}),
        (
            "E1130 17:21:41.064000 45207 x.py:874] failed (exitcode: -9) local_rank: 1 (pid: 45213) of binary: python",
            "torchrun-exit",
            {"exitcode": "-9", "local_rank": "1", "pid": "45213"},
        ),
        (
            "srun: error: cn7: task 3: Exited with exit code 1",
            "srun-exit",
            {"host": "cn7", "task": "3", "exitcode": "1"},
        ),
        (
            f"{C10}[Rank 0]: Rank 2 failed to pass monitoredBarrier in 8000 ms",
            "monitored-barrier",
            {"rank": "2"},
        ),
        (
            "I1103 12:00:01.08 42 a.py:1] [default] Worker group FAILED. 2/3 attempts left; will restart worker group",
            "torchrun-restart",
            {"left": "2", "attempts": "3"},
        ),
        (
            "Nov  3 12:00:01 gpu-07 kernel: Out of memory: Killed process 4242 (python) total-vm:1kB",
            "kernel-oom-kill",
            {"pid": "4242", "program": "python"},
        ),
    ],
)
def test_a_mark_gives_what_the_line_states(line: str, mark: str, groups: dict[str, str]) -> None:
    assert marks_of(line)[mark] == groups


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("{'loss': 0.68, 'grad_norm': 0.39, 'learning_rate': 4.5e-05, 'epoch': 0.25}", None),
        (" 12%|█▏        | 12/100 [00:10<01:20,  1.10it/s]", "12"),
        ("Epoch 3:  45%|████▌     | 45/100 [00:10<00:12,  4.37it/s, v_num=0]", "45"),
        (
            "[2025-11-03 12:00:01,123] [INFO] [engine.py:1:_report_progress] steps: 10 loss: 2.31 iter time (s): 1.2",
            "10",
        ),
        (" [2025-11-03 12:00:01] iteration       10/     100 | consumed samples:         2560 |", "10"),
        ("[titan] 2025-11-03 12:00:01,123 - root - INFO - step: 10  loss:  7.1234  memory: 40.10GiB(50.2%)", "10"),
        ("step 10 loss 2.3", "10"),
        ("[0] step 10 loss 2.3", "10"),
        ("rank 3 step 10", "10"),
        ("[epoch 1][step 20]", "20"),
        ("completed step: 10, seconds: 1.234, loss: 7.1", "10"),
        ("iter 100: loss 2.3412, time 12.34ms", "100"),
    ],
)
def test_a_completed_step_is_progress(line: str, step: str | None) -> None:
    progress = {mark.id for mark in MARKS if mark.kind == "progress"}
    found = {name: groups for name, groups in marks_of(line).items() if name in progress}

    assert found
    assert {groups.get("step") for groups in found.values()} == {step}


@pytest.mark.parametrize(
    "line",
    [
        "Loading weights: 100%|██████████| 37/37 [00:01<00:00, 10147.07it/s]",
        "Loading checkpoint shards: 100%|██████████| 4/4 [00:10<00:00,  2.51s/it]",
        "Map:  12%|█▏        | 12/100 [00:10<01:20,  1.10it/s]",
        "  0%|          | 0/32 [00:00<?, ?it/s]",
        "step 0 forward start",
        "[rank 0] resumed from step 31",
        '[rank0]:   File "train.py", line 3, in train_step',
    ],
)
def test_what_is_no_completed_step_is_no_progress(line: str) -> None:
    assert "progress" not in kinds_of(line)


@pytest.mark.parametrize(
    "line",
    [
        "{'train_runtime': 3.4}",
        "`Trainer.fit` stopped: `max_epochs=3` reached.",
        "training finished",
        "Training completed.",
    ],
)
def test_a_run_that_ended_well_says_so(line: str) -> None:
    assert kinds_of(line) == {"completion"}


@pytest.mark.parametrize(
    "line",
    [
        "training failed before it was done",
        "waiting until training is finished",
        "Training finished iteration 3 at 12:00",
    ],
)
def test_other_talk_of_finishing_is_no_completion(line: str) -> None:
    assert "completion" not in kinds_of(line)


def test_a_watchdogs_abort_is_no_crash_of_its_own() -> None:
    lines = [
        "terminate called after throwing an instance of 'c10::DistBackendError'",
        "  traceback : Signal 6 (SIGABRT) received by PID 4242",
        "Fatal Python error: Aborted",
    ]

    assert [line for line in lines if "crash" in kinds_of(line)] == []


def healthy_files() -> Iterator[Path]:
    """Inputs of runs that simply end well (those that recovered or were interrupted show real errors)."""
    for case in map(json.loads, (CORPUS / "cases.jsonl").read_text(encoding="utf-8").splitlines()):
        if case["expect"] in (["NONE"], "NONE") and case["form"] in ("log", "multirank"):
            path = CORPUS / case["input"]
            words = ("restart", "interrupt", "abort", "at-exit", "caught", "retry", "o-healthy")
            shows_errors = case.get("fails") or any(word in case["id"] for word in words)
            if not shows_errors:
                yield from [path] if path.is_file() else sorted(item for item in path.rglob("*") if item.is_file())


@pytest.mark.parametrize("path", list(healthy_files()), ids=lambda path: str(path.relative_to(CORPUS / "inputs")))
def test_a_healthy_log_carries_no_error_mark(path: Path) -> None:
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    reader = READER.sample(lines)
    wrong = [
        (mark.id, line)
        for line in lines
        for message in (reader.read(line).rest,)
        for mark in MARKS
        if mark.kind in ERRORS | {"collateral", "summary", "exit"} and groups_of(mark, message) is not None
    ]

    assert wrong == []
