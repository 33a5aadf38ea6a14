"""Who began it: the first line of the strongest class, and the events that only follow from it."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from denpex_kb.derive.blocks import Identity, identity
from denpex_kb.derive.ranks import Ranks, mark_values
from denpex_kb.model.diagnosis import Collateral, EventPlace, Initiating
from denpex_kb.model.events import Line, Seen
from denpex_kb.model.rules import RuleSet

# Lines that explain a failure, the strongest class first; what only follows from one is none of them.
CLASSES = ("hardware", "kernel", "scheduler", "exception", "crash", "mismatch")
_FOLLOWS = frozenset({"collateral", "teardown", "summary"})
_NOISE = re.compile(r"0x[0-9a-fA-F]+|\d+|'[^']{1,80}'|\"[^\"]{1,80}\"|/[\w./-]+")
_TOLD_TO_STOP = frozenset({"0", "-15", "15", "143", "-2", "130"})
_SKEW = 1.0  # seconds by which clocks of two hosts may differ
_ALL = 0.8  # of the known ranks that fail alike

Overtaken = Mapping[tuple[str, int], bool]


class Event(Struct, frozen=True):
    """A line that matters to the order, and its class."""

    seen: Seen
    kind: str
    name: str  # mark id
    values: dict[str, str]


class Began(Struct, frozen=True):
    """What began the failure and what followed."""

    initiating: Initiating | None
    event: Event | None
    alike: tuple[Event, ...]  # the same failure on the other ranks
    collateral: tuple[Collateral, ...]
    events: tuple[Event, ...]


def classify(seen: Iterable[Seen], rules: RuleSet, collateral_entries: frozenset[str]) -> list[Event]:
    """Turn matched lines into events; a line that a collateral mark or entry names follows from something else."""
    events: list[Event] = []
    for item in seen:
        marks = [
            rules.patterns[match.pattern] for match in item.matches if rules.patterns[match.pattern].target == "mark"
        ]
        follows = next((mark for mark in marks if mark.name in _FOLLOWS), None)
        by_entry = any(
            rules.patterns[match.pattern].owner in collateral_entries
            for match in item.matches
            if rules.patterns[match.pattern].target == "signature"
        )
        values = mark_values(item, rules)
        if follows is not None:
            events.append(Event(item, follows.name, follows.owner, values))
            continue
        chosen = min(
            (mark for mark in marks if mark.name in CLASSES or mark.name == "exit"),
            key=lambda mark: CLASSES.index(mark.name) if mark.name in CLASSES else len(CLASSES),
            default=None,
        )
        if chosen is not None:
            kind = "collateral" if by_entry and chosen.name in ("exception", "crash") else chosen.name
            events.append(Event(item, kind, chosen.owner, values))
    return events


def who_began(events: Sequence[Event], ranks: Ranks, overtaken: Overtaken, reasons: Mapping[str, str]) -> Began:
    """Find the line that began it.

    Args:
        events: the classified lines of one attempt.
        ranks: the ranks of the job.
        overtaken: lines (file, number) after which the run made progress.
        reasons: mark id → why such a line is collateral.
    """
    standing = [event for event in events if not overtaken.get((event.seen.line.file, event.seen.line.number), False)]
    firsts = _first_per_process(event for event in standing if event.kind in CLASSES)
    chosen = _earliest_strongest(firsts)
    if chosen is None:
        chosen = _first_bad_exit(standing)
    if chosen is None:
        return Began(None, None, (), _fold(standing, None, reasons), tuple(events))
    alike = tuple(event for event in firsts if _same(event, chosen))
    initiating = _initiating(chosen, alike, firsts, ranks, standing)
    return Began(initiating, chosen, alike, _fold(standing, chosen, reasons), tuple(events))


def _first_per_process(events: Iterable[Event]) -> list[Event]:
    """Take the first event of each class that each process printed."""
    firsts: dict[tuple[Identity, str], Event] = {}
    for event in events:
        firsts.setdefault((identity(event.seen.line), event.kind), event)
    return list(firsts.values())


def _earliest_strongest(events: Sequence[Event]) -> Event | None:
    best: Event | None = None
    for event in events:
        if best is None or _before(event, best):
            best = event
    return best


def _before(left: Event, right: Event) -> bool:
    """Say whether one event rather explains the failure than another."""
    strength = CLASSES.index(left.kind) - CLASSES.index(right.kind)
    order = _order(left.seen.line, right.seen.line)
    if {left.kind, right.kind} <= {"exception", "crash"}:
        # within one process the exception names what the abort after it does not
        return order < 0 if order else strength < 0
    return strength < 0 if strength else order < 0


def _order(left: Line, right: Line) -> float:
    """Return which line came first (negative: the left one); 0 where nothing can tell."""
    if left.file == right.file:
        return left.number - right.number
    if left.clock is not None and right.clock is not None:
        gap = left.clock - right.clock
        if abs(gap) > (_SKEW if left.host != right.host else 0.0):
            return gap
    return 0.0


def _first_bad_exit(events: Sequence[Event]) -> Event | None:
    exits = [
        event for event in events if event.kind == "exit" and event.values.get("exitcode", "0") not in _TOLD_TO_STOP
    ]
    return _earliest_exit(exits)


def _earliest_exit(events: Sequence[Event]) -> Event | None:
    best: Event | None = None
    for event in events:
        if best is None or _order(event.seen.line, best.seen.line) < 0:
            best = event
    return best


def core_text(text: str) -> str:
    """Return a message without what differs from rank to rank."""
    return _NOISE.sub("N", text)[:200]


def _same(left: Event, right: Event) -> bool:
    return left.kind == right.kind and core_text(left.seen.line.text) == core_text(right.seen.line.text)


def _initiating(
    chosen: Event, alike: Sequence[Event], firsts: Sequence[Event], ranks: Ranks, events: Sequence[Event]
) -> Initiating:
    line = chosen.seen.line
    involved = sorted({event.seen.line.rank for event in alike if event.seen.line.rank is not None})
    expected = ranks.world_size or len(ranks.known)
    everyone = len(involved) > 1 and len(involved) >= _ALL * max(expected, 1)
    rank = None if everyone or _alone(ranks) else _stated_rank(chosen, events)
    why = _why(chosen, involved, firsts, everyone=everyone)
    return Initiating(
        rank=rank,
        ranks=tuple(involved) if everyone else ((rank,) if rank is not None else ()),
        host=line.host,
        time=line.time,
        file=line.file,
        line=line.number,
        text=line.text[:400],
        confidence=_confidence(chosen, firsts, everyone=everyone),
        why=why,
    )


def _alone(ranks: Ranks) -> bool:
    """Say whether the job has one rank, as far as the input shows: then no rank began it before another."""
    return len(ranks.known) <= 1 and (ranks.world_size or 1) == 1


def _stated_rank(event: Event, events: Sequence[Event]) -> int | None:
    line = event.seen.line
    if line.rank is not None and event.kind in ("exception", "crash"):
        return line.rank
    for name in ("rank", "local_rank", "task"):
        stated = event.values.get(name, "")
        if stated.isdigit():
            return int(stated)
    if line.rank is not None:
        return line.rank
    return _rank_by_exit(event, events)


def _rank_by_exit(event: Event, events: Sequence[Event]) -> int | None:
    """A line without rank is that of the one process that ended as such a line makes it end."""
    wanted = {
        "exception": ("1",),
        "crash": ("-6", "-11", "-7", "-4", "134", "139", "135"),
        "kernel": ("-9", "137"),
    }.get(event.kind, ())
    stated = {
        exit_.values.get("rank") or exit_.values.get("local_rank")
        for exit_ in events
        if exit_.kind == "exit" and exit_.values.get("exitcode") in wanted
    } - {None}
    only = stated.pop() if len(stated) == 1 else None
    return int(only) if only is not None and only.isdigit() else None


def _why(chosen: Event, involved: Sequence[int], firsts: Sequence[Event], *, everyone: bool) -> str:
    if everyone:
        return f"the same failure on {len(involved)} ranks: nobody began it alone"
    reason = {
        "hardware": "a hardware record, which explains what the ranks report",
        "kernel": "the operating system ended the process",
        "scheduler": "the scheduler ended the job",
        "exception": "its own exception",
        "crash": "the process crashed",
        "mismatch": "the text names the ranks out of step",
        "exit": "the first process to end with an error",
    }[chosen.kind]
    others = Counter(event.kind for event in firsts if event is not chosen and not _same(event, chosen))
    return f"{reason}; earlier or stronger than {sum(others.values())} other error lines" if others else reason


def _confidence(chosen: Event, firsts: Sequence[Event], *, everyone: bool) -> float:
    if everyone:
        return 0.9
    rivals = [
        event
        for event in firsts
        if event.kind == chosen.kind
        and not _same(event, chosen)
        and identity(event.seen.line) != identity(chosen.seen.line)
    ]
    base = 0.92 if chosen.kind in ("hardware", "kernel", "exception") else 0.8
    return round(base if not rivals else base - 0.25, 2)


def _fold(events: Iterable[Event], chosen: Event | None, reasons: Mapping[str, str]) -> tuple[Collateral, ...]:
    groups: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        if event is chosen:
            continue
        if event.kind in ("collateral", "teardown"):
            groups[event.name].append(event)
        elif chosen is not None and event.kind == "exit" and event.values.get("exitcode") in _TOLD_TO_STOP - {"0"}:
            groups[event.name].append(event)
    folded = []
    for name, members in groups.items():
        first = members[0].seen.line
        folded.append(
            Collateral(
                tuple(sorted({event.seen.line.rank for event in members if event.seen.line.rank is not None})),
                name,
                len(members),
                EventPlace(first.file, first.number, first.rank, first.text[:300]),
                reasons.get(name) or "follows from a failure elsewhere",
            )
        )
    return tuple(sorted(folded, key=lambda item: -item.count))
