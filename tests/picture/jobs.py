"""Logs of jobs of any size, made up for the tests of the picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def stamp(seconds: float) -> str:
    """Return a time of day on one morning."""
    whole = int(seconds)
    return f"{8 + whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}.{int(seconds % 1 * 1e6):06}"


def watchdog(rank: int, at: float, seq: int = 41, op: str = "ALLREDUCE", size: int = 8192) -> str:
    """Return the line of a rank that waited for ten minutes."""
    work = f"WorkNCCL(SeqNum={seq}, OpType={op}, NumelIn={size}, NumelOut={size}, Timeout(ms)=600000)"
    return (
        f"[rank{rank}]:[E1103 {stamp(at)}001 ProcessGroupNCCL.cpp:629] [Rank {rank}] Watchdog caught collective "
        f"operation timeout: {work} ran for 600000 milliseconds before timing out."
    )


def oom_job(ranks: int, culprit: int) -> str:
    """Return the log of a job of which one rank runs out of memory and all others wait for it."""
    lines = [
        f"2025-11-03 {stamp(step * 10)[:-3].replace('.', ',')} - trainer - INFO - step {step}" for step in range(4)
    ]
    lines.insert(0, f"world_size: {ranks}")
    what = "CUDA out of memory. Tried to allocate 3.17 GiB. GPU 1 has a total capacity of 79.11 GiB"
    lines += [
        f"[rank{culprit}]: Traceback (most recent call last):",
        f'[rank{culprit}]:   File "/job/train.py", line 9, in <module>',
        f"[rank{culprit}]: torch.OutOfMemoryError: {what} of which 312.62 MiB is free.",
    ]
    lines += [watchdog(rank, 640 + rank % 7 / 10) for rank in range(ranks) if rank != culprit]
    return "\n".join(lines) + "\n"


def mismatch_job(ranks: int, culprit: int) -> str:
    """Return the log of a job of which one rank calls another collective than the others."""
    lines = [
        watchdog(
            rank, 640, op="_ALLGATHER_BASE" if rank == culprit else "ALLREDUCE", size=64 if rank == culprit else 8192
        )
        for rank in range(ranks)
    ]
    return "\n".join([f"world_size: {ranks}", *lines]) + "\n"


def written(folder: Path, text: str, name: str = "train.log") -> Path:
    """Write a log."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def attributes(tags: Sequence[tuple[str, dict[str, str | None]]], name: str) -> list[str]:
    """Return the values of one attribute, of all elements."""
    return [value for _, held in tags if (value := held.get(name)) is not None]
