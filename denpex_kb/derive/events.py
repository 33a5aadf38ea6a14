"""Matched lines → events: the class, the rank and the host of each, and when it was."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct, structs

from denpex_kb.derive.blocks import mark_values
from denpex_kb.derive.clocks import Clocks, Span
from denpex_kb.derive.exits import numbers
from denpex_kb.derive.places import place_of
from denpex_kb.derive.ranks import Ranks
from denpex_kb.model.events import Identity, Line, Seen, identity
from denpex_kb.model.rules import RuleSet, ScanPattern

# Lines that explain a failure, the strongest class first; what only follows from one is none of them.
CLASSES = ("hardware", "kernel", "scheduler", "exception", "crash", "mismatch")
FOLLOWS = frozenset({"collateral", "teardown", "summary"})
_DEVICE_ERROR = "cuda-error"  # a watchdog may be the first to meet it, yet the device of its rank is where it happened
_OF_THE_PRINTER = frozenset({"exception", "crash", "collateral"})


class Event(Struct, frozen=True):
    """A line that matters to the order."""

    seen: Seen
    kind: str
    name: str  # mark id
    values: Mapping[str, str]
    who: Identity
    rank: int | None = None  # whose it is; None where it names none
    ranks: tuple[int, ...] = ()  # where it names several
    host: str | None = None
    span: Span | None = None
    follows: bool = False  # an entry that describes consequences knows its line for certain

    @property
    def line(self) -> Line:
        """The line."""
        return self.seen.line


def classify(
    seen: Iterable[Seen], rules: RuleSet, collateral_entries: frozenset[str], ranks: Ranks, clocks: Clocks
) -> list[Event]:
    """Turn matched lines into events; a line that a collateral mark or entry names follows from something else."""
    events: list[Event] = []
    decisive = _decisive(rules, collateral_entries)
    for item in seen:
        marks = [
            rules.patterns[match.pattern] for match in item.matches if rules.patterns[match.pattern].target == "mark"
        ]
        if not marks:
            continue
        chosen = _chosen(marks)
        if chosen is None:
            continue
        kind = chosen.name
        if (
            kind in ("exception", "crash")
            and chosen.owner != _DEVICE_ERROR
            and _named_by(item, rules, collateral_entries)
        ):
            kind = "collateral"
        told = event(item, kind, chosen.owner, mark_values(item, rules), ranks, clocks)
        known = any(
            (rules.patterns[match.pattern].owner, rules.patterns[match.pattern].name) in decisive
            for match in item.matches
            if rules.patterns[match.pattern].target == "signature"
        )
        events.append(structs.replace(told, follows=True) if known else told)
    return events


def _decisive(rules: RuleSet, entries: frozenset[str]) -> frozenset[tuple[str, str]]:
    """Return the decisive signatures of some entries, as entry and name."""
    return frozenset(
        (rule.id, signature.name)
        for rule in rules.rules
        if rule.id in entries
        for signature in rule.signatures
        if signature.strength == "decisive"
    )


def event(item: Seen, kind: str, name: str, values: Mapping[str, str], ranks: Ranks, clocks: Clocks) -> Event:
    """Build an event, with the rank and the host that the line names."""
    line = item.line
    host = values.get("host") or place_of(line)
    named = ranks_named(kind, values, line, host, ranks)
    rank = named[0] if len(named) == 1 else None
    if rank is not None and (host is None or kind in ("kernel", "hardware", "exit")):
        host = host or ranks.host_of(rank)
    who: Identity = ("machine", host or line.file) if kind in ("hardware", "kernel") else identity(line)
    span = clocks.span(line)
    if span is not None and clocks.zone and who[0] == "machine":
        span = Span(span.low - clocks.zone, span.high - clocks.zone)
    return Event(item, kind, name, values, who, rank, named, host, span)


def ranks_named(kind: str, values: Mapping[str, str], line: Line, host: str | None, ranks: Ranks) -> tuple[int, ...]:
    """Return the ranks that a line is about: the printer's, or those of the device, process or task that it names."""
    if "reporter" in values or "link" in values:
        return ()
    if kind in _OF_THE_PRINTER and line.rank is not None and "rank" not in values:
        return (line.rank,)
    if (stated := numbers(values.get("rank", ""))) and kind != "collateral":
        return stated
    if kind == "collateral":
        return (line.rank,) if line.rank is not None else ()
    found = _of_process(values, host, ranks)
    if found is not None:
        return (found,)
    if "task" in values and ranks.task_is_rank:
        return numbers(values["task"])
    if kind in ("hardware", "kernel", "mismatch") or (kind == "scheduler" and line.pid is None):
        return ()
    return (line.rank,) if line.rank is not None else _by_device(values, host, ranks)


def _of_process(values: Mapping[str, str], host: str | None, ranks: Ranks) -> int | None:
    if values.get("pid", "").isdigit() and (rank := ranks.of_pid(int(values["pid"]), host)) is not None:
        return rank
    if "bus" in values and (rank := ranks.of_bus(values["bus"], host)) is not None:
        return rank
    if values.get("local_rank", "").isdigit():
        return ranks.of_local(int(values["local_rank"]), host)
    if "actor_local" in values:
        return ranks.of_actor(int(values["actor_node"]), int(values["actor_local"]))
    return None


def _by_device(values: Mapping[str, str], host: str | None, ranks: Ranks) -> tuple[int, ...]:
    device = values.get("gpu", "")
    if device.isdigit() and int(device) and host is not None:
        rank = ranks.of_local(int(device), host)
        return (rank,) if rank is not None else ()
    return ()


def _chosen(marks: Iterable[ScanPattern]) -> ScanPattern | None:
    """Take of a line's marks a device's error, else what follows from something else, else the strongest class."""
    held = list(marks)
    of_device = next((mark for mark in held if mark.owner == _DEVICE_ERROR), None)
    if of_device is not None:
        return of_device
    follows = next((mark for mark in held if mark.name in FOLLOWS), None)
    if follows is not None:
        return follows
    named = next((mark for mark in held if mark.name == "mismatch"), None)
    if named is not None:
        return named  # mostly an exception's text, raised by a rank that is in step
    return min(
        (mark for mark in held if mark.name in CLASSES or mark.name == "exit"),
        key=lambda mark: CLASSES.index(mark.name) if mark.name in CLASSES else len(CLASSES),
        default=None,
    )


def _named_by(item: Seen, rules: RuleSet, entries: frozenset[str]) -> bool:
    """Whether only entries that describe consequences know the line."""
    owners = {
        rules.patterns[match.pattern].owner
        for match in item.matches
        if rules.patterns[match.pattern].target == "signature"
    }
    return bool(owners) and owners <= entries
