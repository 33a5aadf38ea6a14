"""Two failures of one attempt that cannot be explained by one another are two incidents."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from denpex_kb.derive.began import began_with
from denpex_kb.derive.events import Event
from denpex_kb.derive.nouns import Began, Scene
from denpex_kb.derive.order import gap_between
from denpex_kb.derive.places import place_of
from denpex_kb.model.events import Seen

_APART = 10.0  # seconds between failures of two hosts, below which one may follow from the other
_MOST = 4
_MACHINE = frozenset({"hardware", "kernel"})
# Exceptions that a lost peer causes as well: never an incident of their own.
_OF_LOST_PEERS = (
    "Dist",
    "Connection",
    "Timeout",
    "BrokenPipe",
    "EOF",
    "Runtime",
    "Rendezvous",
    "Signal",
    "ChildFailed",
    "Ray",
    "Actor",
)


class Case(Struct, frozen=True):
    """One incident: who began it, and the lines that belong to it."""

    began: Began
    seen: tuple[Seen, ...]


def split(scene: Scene, began: Began, seen: Sequence[Seen]) -> list[Case]:
    """Return the incidents of an attempt, the one that broke the job in front."""
    if began.event is None or began.everyone or began.event.host is None:
        return [Case(began, tuple(seen))]
    others: dict[str, Event] = {}
    for event in sorted(
        began.rivals, key=lambda event: (event.kind not in _MACHINE, event.span.best if event.span else 0.0)
    ):
        if event.host is not None and _independent(event, began.event):
            others.setdefault(event.host, event)
    if not others:
        return [Case(began, tuple(seen))]
    by_host: dict[str | None, list[Seen]] = {host: [] for host in list(others)[:_MOST]}
    rest: list[Seen] = []
    for item in seen:
        rank = item.line.rank
        host = place_of(item.line) or (scene.ranks.host_of(rank) if rank is not None else None)
        by_host.get(host, rest).append(item)
    cases = [Case(began, tuple(rest))]
    cases += [Case(began_with(event, scene), tuple(by_host[host])) for host, event in list(others.items())[:_MOST]]
    return cases


def _independent(event: Event, first: Event) -> bool:
    if event.host == first.host:
        return False
    gap = gap_between(event, first)
    if gap is None or abs(gap) <= _APART:
        return False
    if event.kind in _MACHINE:
        return True
    name = event.values.get("exception", "").rsplit(".", 1)[-1]
    return event.kind == "exception" and bool(name) and not name.startswith(_OF_LOST_PEERS)
