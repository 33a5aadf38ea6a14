"""Which rank is behind a line that names none: by its process, its device, how a rank ended, or who was missed."""

from __future__ import annotations

from collections.abc import Sequence

from denpex_kb.derive.blocks import QUOTED
from denpex_kb.derive.collectives import Relation
from denpex_kb.derive.ended import ABORT, CRASHES, KILL
from denpex_kb.derive.events import Event
from denpex_kb.derive.narrow import first_to_end
from denpex_kb.derive.nouns import Scene
from denpex_kb.derive.order import gap_between

# Records of a machine that lacks a device: whichever process asks for one too many fails.
_OF_THE_NODE = frozenset({"gpu-probe-failed"})
# Texts on which two ranks disagree: the process that prints one need not be the wrong one.
_OF_TWO = frozenset({"nccl-message-truncated", "gloo-size-mismatch"})
_BACKEND = ("DistBackendError", "ncclInternalError", "EnforceNotMet")
_DEAD = frozenset({"ray-dead-pid", "ray-dead-name", "ray-dead-worker"})  # Ray tells which of its processes is gone
_OF_WORKERS = frozenset({"data-worker-bus-error", "data-worker-killed"})  # its parent raises an exception then
_RECORD_WINDOW = 120.0  # seconds around a record in which its rank shows the consequence


def rank_behind(
    chosen: Event, firsts: Sequence[Event], standing: Sequence[Event], scene: Scene, located: Relation | None
) -> int | None:
    """Return the rank that an event names, else the one that ended, or was missed, as such an event makes it."""
    if chosen.kind == "hardware" and any(event.name in _OF_THE_NODE for event in standing):
        return None
    if _of_two(chosen, standing) or _of_driver(chosen, standing):
        return None
    if chosen.kind == "scheduler" and "node" in chosen.name:
        held = scene.ranks.on(chosen.host)
        return held[0] if len(held) == 1 else None
    if chosen.rank is not None:
        return chosen.rank
    if len(chosen.ranks) > 1 or "reporter" in chosen.values or "link" in chosen.values:
        return None
    host = set(scene.ranks.on(chosen.host)) if chosen.host in scene.ranks.bases else set()

    def fits(rank: int) -> bool:
        return not host or rank in host

    first = {id(event) for event in firsts}
    pid = chosen.values.get("pid")
    near = [
        event
        for event in (*firsts, *standing)
        if event is not chosen and event.rank is not None and fits(event.rank) and _near(event, chosen)
    ]
    by_pid = {
        event.rank
        for event in standing
        if pid and event.values.get("pid") == pid and event.rank is not None and fits(event.rank)
    }
    same_class = {event.rank for event in near if event.kind == chosen.kind}
    own: set[int] = set()
    if chosen.kind in ("hardware", "kernel", "scheduler", "crash"):
        raised = [event for event in near if event.kind in ("exception", "crash") and id(event) in first]
        own = {event.rank for event in raised if event.rank is not None}
    own |= {event.rank for event in standing if event.name in _DEAD and event.rank is not None and fits(event.rank)}
    ended = _first_of({rank for rank, exit_ in scene.exits if exit_.code in _codes(chosen) and fits(rank)}, scene)
    missed = set(located.ranks) if located is not None and located.culprit else set()
    for ranks in (by_pid, same_class, own, ended, {rank for rank in missed if fits(rank)}, host):
        if len(ranks) == 1:
            return next(iter(ranks))
    return None


def _first_of(ended: set[int], scene: Scene) -> set[int]:
    """Keep, of several ranks that ended alike, the one that ended before all others."""
    first = first_to_end(scene) if len(ended) > 1 else None
    return ended if first is None or first not in ended else {first}


def _of_driver(chosen: Event, standing: Sequence[Event]) -> bool:
    """Whether a driver quotes the first of its workers that raised, and no other rank shows that it raised alone."""
    if chosen.line.role != QUOTED:
        return False
    return not any(event.kind == "collateral" and event.rank not in (None, chosen.rank) for event in standing)


def _of_two(chosen: Event, standing: Sequence[Event]) -> bool:
    """Whether an exception only says that a message of another process was not what was expected."""
    name = chosen.values.get("exception", "").rsplit(".", 1)[-1]
    return name in _BACKEND and any(event.name in _OF_TWO for event in standing)


def _near(event: Event, other: Event) -> bool:
    gap = gap_between(event, other)
    return gap is None or abs(gap) <= _RECORD_WINDOW


def _codes(event: Event) -> frozenset[int]:
    """Return the exit codes with which such an event ends a process."""
    if event.kind == "exception":
        return frozenset({1})
    if event.kind == "kernel" or (event.kind == "scheduler" and ("oom" in event.name or "memory" in event.name)):
        return frozenset({KILL, 137}) | (CRASHES if event.name in ("kernel-segfault", "kernel-trap") else frozenset())
    if event.name in _OF_WORKERS:
        return frozenset({1, ABORT})
    if event.kind in ("crash", "mismatch"):
        return CRASHES | {ABORT} | ({1} if "exception" in event.values or event.name == "cuda-error" else set())
    return frozenset()


def ranks_behind(
    chosen: Event, rank: int | None, involved: Sequence[int], scene: Scene, *, everyone: bool
) -> tuple[int, ...]:
    """Return the ranks that an event is about: all that fail alike, its own, or those of the host that was lost."""
    if everyone:
        return tuple(involved)
    if rank is not None:
        return (rank,)
    if len(chosen.ranks) > 1:
        return chosen.ranks
    if chosen.kind == "scheduler" and "node" in chosen.name:
        return scene.ranks.on(chosen.host)
    return ()
