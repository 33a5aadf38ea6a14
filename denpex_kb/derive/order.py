"""Of the lines that explain a failure, which one came first, and which only follow from others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import structs

from denpex_kb.derive.clocks import Clocks, Span, without_zone
from denpex_kb.derive.collectives import Hang
from denpex_kb.derive.events import Event
from denpex_kb.derive.exits import Exit
from denpex_kb.model.events import Identity

_STRENGTH = {"hardware": 0, "kernel": 1, "scheduler": 2, "exception": 3, "crash": 3, "mismatch": 4}
_MACHINE = frozenset({"hardware", "kernel"})  # printed by the machine, with a clock of its own
_LATE_RECORD = 120.0  # a record of the same host explains what was printed up to so many seconds before it
_STALE_RECORD = 1800.0  # a record so much older than the failure belongs to something else
_LATE_REASONS = ("oom", "memory", "node")  # reasons of schedulers that are printed after what they explain
_REPORTS = frozenset({"desync-lagging", "desync-debug", "desync-joined"})  # of a time-out: who was late for it
_SPECIFIC = ("rank", "pid@", "local@", "task")


def as_ends(events: Iterable[Event], ends: Iterable[Exit]) -> list[Event]:
    """Take lines that mostly are consequences for ends of processes, where they are known to be the first ones."""
    known = {id(end.seen) for end in ends}
    return [
        structs.replace(event, kind="exit") if event.kind == "collateral" and id(event.seen) in known else event
        for event in events
    ]


def dated(events: Sequence[Event], exits: Iterable[tuple[int, Exit]], clocks: Clocks) -> list[Event]:
    """Narrow down when undated lines were printed: before their process ended, after a record of their device."""
    ends: dict[int, float] = {}
    for rank, exit_ in exits:
        time = clocks.of(exit_.seen.line)
        if time is not None:
            ends[rank] = min(ends.get(rank, time), time)
    records = [event for event in events if event.kind == "hardware" and event.span is not None and event.span.exact]
    return [_dated(event, ends, records) for event in events]


def _dated(event: Event, ends: dict[int, float], records: Sequence[Event]) -> Event:
    span = event.span
    if event.kind not in ("exception", "crash") or span is None or span.exact:
        return event
    if event.name == "cuda-error":
        for record in records:
            same = record.rank == event.rank if record.rank is not None else record.host == event.host is not None
            if same and record.span is not None and span.low <= record.span.low <= span.high:
                return structs.replace(event, span=Span(record.span.low, span.high, record.span.low))
    end = ends.get(event.rank) if event.rank is not None else None
    if end is not None and span.low <= end <= span.high:
        return structs.replace(event, span=Span(span.low, end, end))
    return event


def consequences(events: Iterable[Event], hang: Hang | None, clocks: Clocks) -> set[int]:
    """Return the indices of events that only follow: from the process's own loss of a peer, or from the time-out."""
    follows: set[int] = set()
    lost: dict[Identity, Event] = {}
    first_report = {report.seen.line.file: report.seen.line.number for report in reversed(hang.reports)} if hang else {}
    for index, event in enumerate(events):
        if event.kind == "collateral" and event.who[0].startswith(_SPECIFIC):
            earlier = lost.get(event.who)
            if earlier is None or (earlier.line.file == event.line.file and event.line.number < earlier.line.number):
                lost[event.who] = event
            continue
        if event.name in _REPORTS:
            continue
        if event.kind in ("exception", "crash", "mismatch"):
            cause = lost.get(event.who)
            if cause is not None and _behind(event, cause):
                follows.add(index)
        if (
            hang is not None
            and event.name not in _REPORTS
            and _after_time_out(event, hang.noticed, first_report, clocks)
        ):
            follows.add(index)
    return follows


def _behind(event: Event, cause: Event) -> bool:
    if event.line.file == cause.line.file:
        return event.line.number > cause.line.number
    return event.span is not None and cause.span is not None and event.span.low > cause.span.high


def _after_time_out(event: Event, noticed: float | None, first_report: dict[str, int], clocks: Clocks) -> bool:
    """Whether an event came after the watchdogs had given up: then it is one of the consequences."""
    if event.name == "cuda-error" and event.who[0] == "rank":
        return False
    if event.kind in _MACHINE:
        return noticed is not None and event.span is not None and without_zone(event.span.low - noticed) > clocks.skew
    number = first_report.get(event.line.file)
    if number is not None:
        return event.line.number > number
    return noticed is not None and event.span is not None and event.span.low > noticed + clocks.skew


def choose(candidates: Sequence[Event], clocks: Clocks) -> Event | None:
    """Return the event that explains the rest: the earliest, or a stronger one that belongs to it.

    On one output the order of lines is safe. Between hosts a gap below the skew of their clocks proves nothing, and the
    stronger class is preferred. A record of the machine may be printed after what it explains on the same host.
    """
    held = [event for event in candidates if not _stale(event, candidates)]
    if not held:
        return None
    one = _one_output(held)
    first = min(held, key=lambda event: _when(event, one=one))
    if first.kind == "mismatch":
        # it locates; what one of the ranks that it names raised itself explains
        own = [event for event in held if event.kind in ("exception", "crash") and event.rank in first.ranks]
        if own:
            return min(own, key=lambda event: _when(event, one=one))
    together = [event for event in held if event is first or _contemporary(event, first, clocks)]
    return min(together, key=lambda event: (_STRENGTH[event.kind], *_when(event, one=one)))


def stale_records(events: Iterable[Event], chosen: Event | None) -> set[tuple[str, int]]:
    """Return the lines of machine records that are much older than the job's own line with which it began."""
    if chosen is None or chosen.kind in _MACHINE:
        return set()
    return {(event.line.file, event.line.number) for event in events if _stale(event, (chosen,))}


def _when(event: Event, *, one: bool) -> tuple[float, int, int]:
    """Order an event among others: by lines alone where all of them are on one output."""
    if one:
        return 0.0, event.line.number, 0
    best = event.span.best if event.span is not None else float("inf")
    return best, event.line.number, event.rank if event.rank is not None else -1


def _one_output(events: Sequence[Event]) -> bool:
    return len({event.line.file for event in events}) == 1 and not any(event.kind in _MACHINE for event in events)


def gap_between(event: Event, other: Event) -> float | None:
    """Return by how many seconds an event came after another; None where nothing tells."""
    if event.span is None or other.span is None:
        return None
    gap = event.span.best - other.span.best
    return without_zone(gap) if (event.kind in _MACHINE) != (other.kind in _MACHINE) else gap


def _contemporary(event: Event, first: Event, clocks: Clocks) -> bool:
    gap = gap_between(event, first)
    same_host = event.host is None or first.host is None or event.host == first.host
    if event.kind in _MACHINE or (event.kind == "scheduler" and any(word in event.name for word in _LATE_REASONS)):
        return gap is None or gap <= (_LATE_RECORD if same_host else clocks.skew)
    if event.line.file == first.line.file:
        return event.line.number < first.line.number  # the order of lines is safe
    if gap is None:
        return True
    return gap <= (0.0 if same_host and event.host is not None else clocks.skew)


def _stale(event: Event, candidates: Sequence[Event]) -> bool:
    """Whether a record of the machine is much older than all that was printed by the job."""
    if event.kind not in _MACHINE:
        return False
    others = [
        gap for other in candidates if other.kind not in _MACHINE and (gap := gap_between(other, event)) is not None
    ]
    return bool(others) and min(others) > _STALE_RECORD
