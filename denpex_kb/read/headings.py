"""Whose are the lines below? Headings that people put between the logs or dumps of ranks in one file."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise

from msgspec import structs

from denpex_kb.model.events import Line, Reading, Seen
from denpex_kb.model.rules import ScanPattern

_OF_RANK, _OF_HOST = "heads", "section"  # what marks of such lines give
_OF_CHILD = "spawned"  # a parent's heading over the traceback of one of its processes, wherever it stands
_NEAR_TOP = 3  # the only heading of a file stands in one of its first lines
# Lines of launchers and machines: whatever heading stands above them, they are no rank's own.
_NO_RANKS = frozenset({"hardware", "kernel", "scheduler", "summary", "teardown", "exit", "restart"})


def rank_headings(reading: Reading, patterns: Sequence[ScanPattern]) -> dict[int, int | None]:
    """Return the headings by line, each with its rank; one of something else ends the part of the rank above it.

    Empty where they are the output of a run rather than headings: printed on end, or above lines of other ranks.
    """
    found: dict[int, int | None] = {}
    children: set[int] = set()
    for seen in reading.seen:
        given = _given(seen, patterns)
        if given.get(_OF_RANK, "").isdigit():
            found[seen.line.number] = int(given[_OF_RANK])
        elif given.get(_OF_CHILD, "").isdigit():
            found[seen.line.number] = int(given[_OF_CHILD])
            children.add(seen.line.number)
        elif _OF_HOST in given and found:
            found[seen.line.number] = None
    numbers = [number for number, rank in found.items() if rank is not None]
    ranks = {rank for rank in found.values() if rank is not None}
    if not numbers or (len(ranks) < 2 and numbers[0] > _NEAR_TOP and numbers[0] not in children):
        return {}
    if any(after - number < 2 for number, after in pairwise(numbers)):
        return {}
    held = sorted(found)
    for line in _lines(reading):
        rank = found[held[at - 1]] if (at := bisect_right(held, line.number)) else None
        if line.rank is not None and rank is not None and line.rank != rank:
            return {}
    return found


def apply_headings(reading: Reading, patterns: Sequence[ScanPattern]) -> Reading:
    """Give the lines below the headings of ranks, and what they state, the rank that the heading names."""
    headings = rank_headings(reading, patterns)
    if not headings:
        return reading
    held = sorted(headings)

    def rank_at(number: int | None) -> int | None:
        at = bisect_right(held, number) if number is not None else 0
        return headings[held[at - 1]] if at else None

    for seen in (*reading.seen, *reading.progress):
        rank = rank_at(seen.line.number)
        if rank is None or seen.line.rank is not None or _kinds(seen, patterns) & _NO_RANKS:
            continue
        seen.line.rank = rank
        last = reading.lasts.get(("rank", rank))
        if last is None or last.number < seen.line.number:
            reading.lasts["rank", rank] = seen.line
    if reading.last is not None and reading.last.rank is None and (rank := rank_at(reading.last.number)) is not None:
        reading.last.rank = rank
        reading.lasts["rank", rank] = reading.last
    reading.ranks |= {rank for rank in headings.values() if rank is not None}
    reading.facts = [
        fact if fact.rank is not None else structs.replace(fact, rank=rank_at(fact.line)) for fact in reading.facts
    ]
    return reading


def _lines(reading: Reading) -> list[Line]:
    return [seen.line for seen in (*reading.seen, *reading.progress)]


def _kinds(seen: Seen, patterns: Sequence[ScanPattern]) -> set[str]:
    return {patterns[match.pattern].name for match in seen.matches if patterns[match.pattern].target == "mark"}


def _given(seen: Seen, patterns: Sequence[ScanPattern]) -> Mapping[str, str]:
    """Return what the context marks of a line state."""
    return {
        name: group
        for match in seen.matches
        if patterns[match.pattern].target == "mark" and patterns[match.pattern].name == "context"
        for name, group in zip(patterns[match.pattern].gives, match.groups, strict=False)
        if group
    }
