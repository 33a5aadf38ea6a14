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
