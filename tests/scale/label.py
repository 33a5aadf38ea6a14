"""What a log is of: the truth about a scenario, whatever a diagnosis says."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

# What others suffer when a rank fails. None of it may be given as the cause where another is expected.
CONSEQUENCES = frozenset(
    {
        "dist-flight-recorder-remote-dump",
        "dist-heartbeat-tcpstore-gone",
        "dist-nccl-comm-aborted",
        "dist-nccl-watchdog-timeout",
        "mpi-process-died-summary",
        "nccl-ib-wr-flush",
        "nccl-remote-error",
        "slurm-step-killed-after-task-failure",
        "torchrun-agent-got-sigterm",
        "torchrun-childfailed-summary",
        "torchrun-exit-minus-15-sigterm",
        "torchrun-exit-minus-6-abort",
    }
)


class Cause(Struct, frozen=True):
    """One failure: its entries, the exact one first, and the rank that began it."""

    expect: tuple[str, ...]
    rank: int | None = None
    may: tuple[int, ...] = ()  # ranks that may be named though none began it: those of a link


class Label(Struct, frozen=True, kw_only=True):
    """The truth about one log."""

    what: str  # in a sentence
    cause: Cause = Cause(())  # of the last attempt; of several incidents the first
    scope: tuple[str, ...] = ()  # acceptable scopes; any when empty
    ends: Literal["failed", "stalled", "healthy"] = "failed"
    also: Cause | None = None  # an independent incident
    attempts: tuple[Cause, ...] = ()  # all of them, where there are several
    # What the log says of the rank that began it, one of these; nothing where all others tell that they waited for it.
    shown: tuple[str, ...] = ()
    guilty: tuple[int, ...] = ()  # ranks that may be named beside `cause.rank`: those of a node that is the cause

    @property
    def consequences(self) -> frozenset[str]:
        """List the entries that must not be the answer."""
        return CONSEQUENCES - set(self.cause.expect)
