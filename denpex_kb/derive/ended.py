"""Which process began it by the way it ended, where no line explains the failure."""

from __future__ import annotations

from denpex_kb.derive.alike import ALL
from denpex_kb.derive.exits import Exit
from denpex_kb.derive.nouns import Scene

TOLD_TO_STOP = frozenset({-15, -2, -1, 15, 143, 130, 129})
CRASHES = frozenset({-4, -7, -8, -11, -25})
ABORT, KILL = -6, -9


def crashed(scene: Scene) -> tuple[int, Exit] | None:
    """Return the rank that a signal ended, where not all of them were, and not after a time-out of its own."""
    lost = {event.line.rank for event in scene.events if event.kind == "collateral"}
    forced = {event.values.get("pid") for event in scene.events if event.name == "torchrun-forced"}
    signalled = [
        (rank, exit_)
        for rank, exit_ in scene.exits
        if exit_.code in CRASHES
        or (exit_.code in (KILL, 137) and str(exit_.pid) not in forced)
        or (exit_.code == ABORT and rank not in lost and not scene.hangs and _alone(exit_, scene))
    ]
    others = {rank for rank, _ in scene.exits} - {rank for rank, _ in signalled}
    if not signalled or (
        len({rank for rank, _ in signalled}) > 1 and not others and len(signalled) >= len(scene.ranks.known)
    ):
        return None
    hard = [item for item in signalled if item[1].code in CRASHES] or signalled
    return hard[0]


def _alone(exit_: Exit, scene: Scene) -> bool:
    """Whether no other process is said to have ended so on the same line, or with an error on one above it."""
    line = exit_.seen.line
    return len(exit_.tasks) < 2 and not any(
        other.code > 0 and other.seen.line.file == line.file and other.seen.line.number < line.number
        for _, other in scene.exits
    )


def first_bad_exit(scene: Scene) -> tuple[int, Exit] | None:
    """Return the first process that ended with an error of its own; nobody where all of them did alike."""
    bad = [(rank, exit_) for rank, exit_ in scene.exits if exit_.code not in TOLD_TO_STOP and exit_.code != 0]
    lost = {event.line.rank for event in scene.events if event.kind == "collateral"}
    if len({exit_.code for _, exit_ in bad}) == 1 and len({rank for rank, _ in bad}) > 1:
        bad = [] if len({rank for rank, _ in bad}) >= ALL * max(len(scene.ranks.known), 1) else bad
    return next(((rank, exit_) for rank, exit_ in bad if rank not in lost), None)
