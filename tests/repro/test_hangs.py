"""Real jobs that hang on the CPU: started, collected with `denpex capture` while they hang, and diagnosed, end to end.

Make the environments with `tests/repro/make_environments.sh DIR`; then `DENPEX_REPRO=DIR pytest -m slow tests/repro`.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from denpex_kb import KnowledgeBase
from denpex_kb.model.diagnosis import Diagnosis
from tests.conftest import CENTRAL, Ran

pytestmark = pytest.mark.slow
ROOT = Path(os.environ.get("DENPEX_REPRO", "/nowhere"))
BIN = ROOT / "venv" / "bin"
SCRIPTS = Path(__file__).with_name("hangs")
DEEPSPEED = "0.16.9"
QUIET = 12.0  # seconds without a line of output and without work, from which on a job counts as hanging
LIMIT = 240.0


def descendants(pid: int) -> list[int]:
    """Return a process and all that it started, as far as they live."""
    found = [pid]
    with suppress(OSError):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            found += descendants(int(child))
    return found


class Job(NamedTuple):
    """A job's processes and the folder of its logs."""

    processes: list[subprocess.Popen[bytes]]
    logs: Path

    def pids(self) -> list[int]:
        """Return the ranks' processes and their own, such as the workers of a DataLoader."""
        return [pid for process in self.processes for pid in descendants(process.pid)]

    def state(self) -> tuple[int, float]:
        """Return how much was printed, in bytes, and how much was computed, in seconds."""
        busy = 0
        for pid in self.pids():
            with suppress(OSError):
                busy += int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11])
        return sum(path.stat().st_size for path in self.logs.iterdir()), busy / os.sysconf("SC_CLK_TCK")


@contextmanager
def started(script: str, ranks: int, folder: Path, *arguments: str) -> Iterator[Job]:
    if not BIN.is_dir():
        pytest.skip("no environment under DENPEX_REPRO; see make_environments.sh")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    logs = folder / "logs"
    logs.mkdir()
    environment = {
        **os.environ,
        "PATH": f"{BIN}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / f"deepspeed-{DEEPSPEED}"),
        "PYTHONUNBUFFERED": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": port,
        "WORLD_SIZE": str(ranks),
        "LOCAL_WORLD_SIZE": str(ranks),
        "DS_ACCELERATOR": "cpu",
        "OMP_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }
    processes = []
    for rank in range(ranks):
        with (logs / f"rank{rank}.log").open("wb") as log:
            processes.append(
                subprocess.Popen(
                    [str(BIN / "python"), str(SCRIPTS / f"{script}.py"), *arguments],
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    cwd=folder,
                    env={**environment, "RANK": str(rank), "LOCAL_RANK": str(rank)},
                )
            )
    job = Job(processes, logs)
    try:
        yield job
    finally:
        for pid in job.pids():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in processes:
            process.wait()


def wait_until_it_hangs(job: Job) -> None:
    begun = since = time.monotonic()
    before = job.state()
    while time.monotonic() - since < QUIET:
        assert time.monotonic() - begun < LIMIT, "the job goes on"
        assert all(process.poll() is None for process in job.processes), "\n".join(
            path.read_text()[-2000:] for path in job.logs.iterdir()
        )
        time.sleep(1)
        now = job.state()
        if now[0] != before[0] or now[1] - before[1] > 0.5 or not now[0]:
            before, since = now, time.monotonic()


def capture_and_diagnose(
    kb: KnowledgeBase, run: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, folder: Path, script: str, ranks: int
) -> Diagnosis:
    monkeypatch.setenv("PATH", f"{BIN}:{os.environ['PATH']}")  # py-spy
    capture = folder / "capture"
    with started(script, ranks, folder) as job:
        wait_until_it_hangs(job)
        pids = [option for pid in job.pids() for option in ("--pid", str(pid))]
        ran = run("capture", "--yes", *pids, str(capture))
        assert all(process.poll() is None for process in job.processes), "the capture must not end what it looks at"
    assert ran.status == 0, ran.err
    return kb.diagnose([capture, job.logs])


@pytest.mark.parametrize(
    ("script", "ranks", "expected"),
    [
        ("zero3_moe", 2, CENTRAL),
        ("uneven_batches_ddp", 2, "data-uneven-batches-hang"),
        ("uneven_batches_fsdp2", 2, "data-uneven-batches-hang"),
        ("barrier_in_rank0_branch", 2, "dist-barrier-in-rank0-branch-hang"),
        ("forked_lock", 1, "dataloader-fork-deadlock"),
        ("slow_checkpoint", 2, "checkpoint-slow-storage-collective-timeout"),
    ],
)
def test_a_job_that_hangs_is_captured_and_diagnosed(
    kb: KnowledgeBase,
    run: Callable[..., Ran],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    script: str,
    ranks: int,
    expected: str,
) -> None:
    diagnosis = capture_and_diagnose(kb, run, monkeypatch, tmp_path, script, ranks)

    assert diagnosis.hypotheses, diagnosis.because
    assert diagnosis.hypotheses[0].id == expected


def test_stacks_that_do_not_tell_the_cause_tell_where_the_ranks_stand(
    kb: KnowledgeBase, run: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    diagnosis = capture_and_diagnose(kb, run, monkeypatch, tmp_path, "subgroup_nonmember", 4)

    assert diagnosis.verdict == "stalled"
    assert "rank 2 in all_reduce" in diagnosis.because
    assert "through tensor_parallel_step (subgroup_nonmember.py" in diagnosis.because


def test_with_the_blocks_marked_the_job_ends(tmp_path: Path) -> None:
    with started("zero3_moe", 2, tmp_path, "marked") as job:
        for process in job.processes:
            assert process.wait(LIMIT) == 0, (job.logs / "rank0.log").read_text()[-2000:]

    assert all("training finished" in path.read_text() for path in job.logs.iterdir())
