"""Hosts whose clocks show another time zone: their outputs are put on one scale."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from msgspec import Struct

from denpex_kb.derive.clocks import NEAR_QUARTER, QUARTER, ZONES, Clocks
from denpex_kb.derive.places import place_of
from denpex_kb.derive.ranks import Ranks
from denpex_kb.model.events import Reading

_LEAST = 2 * QUARTER  # seconds, below which a job may as well have come later


class _Place(Struct):
    """A host, or an output of which the host is not known."""

    first: float
    last: float
    ranks: set[int]
    files: list[str]


def learn_zones(readings: Iterable[Reading], ranks: Ranks, clocks: Clocks) -> None:
    """Take the time zones out of the outputs of hosts that print their local time without a zone.

    The ranks of a job start together and must run at the same time. Of two hosts with different ranks the clocks are
    apart by a zone, if their outputs begin whole quarters of an hour apart and, as they are, do not meet or end apart
    by just as much.
    """
    places = _places(readings, ranks, clocks)
    if len(places) < 2:
        return
    reference = max(places, key=lambda place: sum(_zone(place, other) == 0 for other in places))
    for place in places:
        shift = _zone(reference, place)
        if shift:
            for file in place.files:
                clocks.shift(file, -shift)


def _zone(one: _Place, other: _Place) -> float:
    """Return by how many seconds the clock of another place is ahead by its zone; 0 where nothing tells."""
    gap = other.first - one.first
    quarters = round(gap / QUARTER) * QUARTER
    if not _LEAST <= abs(quarters) <= ZONES or abs(gap - quarters) > NEAR_QUARTER or one.ranks & other.ranks:
        return 0.0
    apart = other.first > one.last or one.first > other.last
    alike = abs(other.last - one.last - quarters) <= NEAR_QUARTER
    return quarters if apart or alike else 0.0


def _places(readings: Iterable[Reading], ranks: Ranks, clocks: Clocks) -> Sequence[_Place]:
    files: dict[str, list[Reading]] = defaultdict(list)
    for reading in readings:
        hosts = {place for seen in reading.seen if (place := place_of(seen.line)) is not None}
        rank = reading.origin.rank
        host = ranks.host_of(rank) if rank is not None else None
        if host is None:
            host = next(iter(hosts)) if len(hosts) == 1 else None
        if host is None and len(hosts) > 1:
            continue  # one output of several hosts: its lines are in order
        files[host or reading.origin.name].append(reading)
    found: list[_Place] = []
    for held in files.values():
        spans = [span for reading in held if (span := clocks.whole(reading.origin.name)) is not None]
        own = {seen.line.rank for reading in held for seen in reading.seen} | {reading.origin.rank for reading in held}
        named = {rank for rank in own if rank is not None}
        if spans and named:
            first, last = min(first for first, _ in spans), max(last for _, last in spans)
            found.append(_Place(first, last, named, [reading.origin.name for reading in held]))
    return found
