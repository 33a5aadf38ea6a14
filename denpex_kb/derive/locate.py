"""Who left, who is busy, who fell silent: what locates a rank where no line explains the failure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from msgspec import structs

from denpex_kb.derive.blocks import mark_values
from denpex_kb.derive.clocks import Clocks
from denpex_kb.derive.collectives import Hang, Relation, missing_reporters, rank_list
from denpex_kb.derive.ended import ABORT
from denpex_kb.derive.events import Event
from denpex_kb.derive.exits import Exit
from denpex_kb.derive.ranks import Ranks
from denpex_kb.model.events import Line, Reading, Seen
from denpex_kb.model.rules import RuleSet

_BUSY = 30.0  # seconds after the hang began from which on a line shows that its rank did something else
_FEW = 4
_PEERS = 2  # ranks that must name a host before it counts as lost


def left_early(events: Sequence[Event], exits: Sequence[tuple[int, Exit]], ranks: Ranks) -> Relation | None:
    """Return the ranks that had ended without error before the others failed.

    Either a launcher states the code 0, or the agent of a node names or stops all of its processes but these.
    """
    failed = {rank for rank, exit_ in exits if exit_.code != 0}
    stated = sorted({rank for rank, exit_ in exits if exit_.code == 0} - failed)
    lost = [event for event in events if event.kind == "collateral" and event.line.rank is not None]
    if stated and failed and len(stated) <= len(failed):
        witness = tuple(exit_.seen for rank, exit_ in exits if rank in stated)
        return _early(stated, witness, "ended with exit code 0")
    signals = [event for event in events if event.name == "torchrun-closing-signal"]
    stopped = {event.rank for event in signals}
    failing = [exit_ for _, exit_ in exits if exit_.rank is not None]
    if None in stopped or not failing or not lost:
        return None
    for host in dict.fromkeys(exit_.host for exit_ in failing):
        expected = set(ranks.on(host))
        if ranks.world_size is None and len(ranks.bases) <= 1:
            expected = set(range(ranks.per_node or 0))
        named = ({rank for rank, _ in exits} | stopped) & expected
        gone = sorted(expected - named - {event.line.rank for event in lost})
        if gone and len(gone) < len(named) and {event.line.rank for event in lost} & named:
            return _early(
                gone,
                tuple(exit_.seen for exit_ in failing[:2]),
                "neither failed nor had to be stopped: ended before, without an error",
            )
    return None


def _early(ranks: Sequence[int], witness: tuple[Seen, ...], how: str) -> Relation:
    return Relation(
        "rank-exited-early",
        f"{rank_list(ranks)} {how}, while the others were still working",
        tuple(ranks),
        witness,
        culprit=True,
    )


def silent_in(
    hang: Hang,
    events: Sequence[Event],
    lasts: Mapping[int, Line],
    ranks: Ranks,
    clocks: Clocks,
    exits: Sequence[tuple[int, Exit]],
) -> list[Relation]:
    """Return who is busy elsewhere and who is missing among those that report a time-out."""
    dead = frozenset(
        rank
        for event in events
        if event.name == "torchrun-closing-signal"
        and (rank := ranks.of_pid(int(event.values["pid"]), event.host)) is not None
    )
    missing = missing_reporters(hang, ranks, frozenset(ranks.known), _told_before(hang, events, clocks))
    busy = _busy(hang, events, lasts, clocks)
    found: list[Relation] = []
    if busy is not None and (missing is None or set(busy.ranks) <= set(missing.ranks)):
        found.append(busy)
    if missing is not None:
        aborted = frozenset(rank for rank, exit_ in exits if exit_.code == ABORT)
        found.append(_narrowed(missing, ranks, dead, aborted))
    return found


def stuck_watchdog(events: Sequence[Event], hangs: Sequence[Hang], clocks: Clocks) -> Relation | None:
    """Return the rank whose own watchdog stood still before any other rank told of a loss or of a time-out.

    The monitor ends such a process; what the others tell later follows from that.
    """
    first: dict[int, Event] = {}
    for event in events:
        if event.name == "nccl-watchdog-stuck" and event.line.rank is not None:
            first.setdefault(event.line.rank, event)
    others = [
        event
        for event in events
        if event.kind == "collateral" and event.line.rank is not None and event.line.rank not in first
    ]
    if len(first) != 1 or not others:
        return None
    ((rank, stuck),) = first.items()
    own = [hang for hang in hangs for report in hang.reports if report.rank == rank and _before(report.seen, stuck)]
    if own or any(_came_first(event, stuck, clocks) for event in others):
        return None
    text = f"the watchdog of rank {rank} stood still, and its monitor ended the process"
    return Relation("watchdog-stuck", text, (rank,), (stuck.seen,), culprit=True)


def _before(seen: Seen, event: Event) -> bool:
    return seen.line.file == event.line.file and seen.line.number < event.line.number


def _came_first(event: Event, other: Event, clocks: Clocks) -> bool:
    if event.span is not None and other.span is not None and event.span.exact and other.span.exact:
        return event.span.low < other.span.low - clocks.skew
    return event.line.file == other.line.file and event.line.number < other.line.number


def _told_before(hang: Hang, events: Iterable[Event], clocks: Clocks) -> frozenset[int]:
    """Return the ranks that told of a failure of their own before the time-out: they fell, they did not stay silent.

    The loss of a peer counts only where it is known to have come first: the rank that all waited for meets it last.
    """
    first: dict[str, int] = {}
    for report in hang.reports:
        line = report.seen.line
        first[line.file] = min(line.number, first.get(line.file, line.number))
    told: set[int] = set()
    for event in events:
        lost = event.kind == "collateral" and "exception" in event.values
        if event.line.rank is None or not (lost or event.kind in ("exception", "crash")):
            continue
        number, span = first.get(event.line.file), event.span
        if number is not None:
            before = event.line.number < number
        elif hang.noticed is None or span is None:
            before = not lost
        else:
            before = (span.high if lost else span.low) <= hang.noticed + clocks.skew
        if before:
            told.add(event.line.rank)
    return frozenset(told)


def _busy(hang: Hang, events: Sequence[Event], lasts: Mapping[int, Line], clocks: Clocks) -> Relation | None:
    reported = {report.rank for report in hang.reports}
    told = {event.line.rank for event in events if event.kind in ("collateral", "teardown", "exception", "crash")}
    others: list[tuple[float, int, Line]] = []
    for rank, line in lasts.items():
        time = clocks.of(line)
        if (
            rank not in reported
            and rank not in told
            and time is not None
            and (hang.noticed is None or time <= hang.noticed + clocks.skew)
        ):
            others.append((time, rank, line))
    others.sort(key=lambda item: (-item[0], item[1]))
    if hang.began is not None:
        busy = [(rank, line) for time, rank, line in others if time > hang.began + _BUSY]
    else:  # undated watchdogs: whoever went on long after all others had fallen silent
        busy = [(others[0][1], others[0][2])] if len(others) > 1 and others[0][0] - others[1][0] > 2 * _BUSY else []
    if not busy or len(busy) > _FEW or len(busy) >= len(reported):
        return None
    busy.sort(key=lambda item: item[0])
    rank, line = busy[0]
    text = f"{rank_list([number for number, _ in busy])} went on with other work while the others waited"
    return Relation(
        "busy-while-others-wait",
        text,
        tuple(number for number, _ in busy),
        (Seen(line, ()), hang.reports[0].seen),
        culprit=True,
    )


def _narrowed(missing: Relation, ranks: Ranks, dead: frozenset[int], aborted: frozenset[int]) -> Relation:
    """Keep, of many missing ranks, a node that is missing as a whole; who was stopped by its agent could not report.

    Whom its own watchdog aborted waited as well, even where its report is not to be seen.
    """
    rest = set(missing.ranks) - aborted
    gone = rest - dead or rest or set(missing.ranks)
    if ranks.per_node is not None and len(gone) > 1 and ranks.world_size is not None:
        size = ranks.per_node
        nodes = [set(range(first, min(first + size, ranks.world_size))) for first in range(0, ranks.world_size, size)]
        whole = [node for node in nodes if node <= gone]
        if len(whole) == 1 and len(nodes) > 1:
            gone = whole[0]
    if gone == set(missing.ranks):
        return missing
    return structs.replace(missing, ranks=tuple(sorted(gone)))


def aside(
    readings: Iterable[Reading],
    seen: Iterable[Seen],
    progress: Iterable[Seen],
    events: Iterable[Event],
    rules: RuleSet,
) -> Relation | None:
    """Return the rank whose last line is work of its own, while others print steps, or that they waited in vain."""
    ends = {(line.file, line.number) for reading in readings for line in reading.lasts.values()}
    found: dict[int, Seen] = {}
    for item in seen:
        if (
            item.line.rank is not None
            and (item.line.file, item.line.number) in ends
            and "aside" in mark_values(item, rules)
        ):
            found.setdefault(item.line.rank, item)
    others = {item.line.rank for item in progress if item.line.rank is not None}
    others |= {event.line.rank for event in events if event.kind == "collateral" and event.line.rank is not None}
    others -= found.keys()
    if len(found) != 1 or not others:
        return None
    rank, item = next(iter(found.items()))
    return Relation(
        "busy-while-others-wait",
        f"the last line of rank {rank} is work of its own: {item.line.text[:80]}",
        (rank,),
        (item,),
        culprit=True,
    )


def on_main_process(
    seen: Iterable[Seen], progress: Iterable[Seen], hangs: Sequence[Hang], rules: RuleSet
) -> Relation | None:
    """Return rank 0 where the last thing that was told before the time-out is work of the main process alone."""
    held = [item for item in seen if "main_work" in mark_values(item, rules)]
    reports = [report.seen.line for hang in hangs for report in hang.reports]
    if not held or not reports:
        return None
    item = held[-1]
    noticed = min((line.number for line in reports if line.file == item.line.file), default=None)
    later = any(
        other.line.file == item.line.file and item.line.number < other.line.number < (noticed or 0)
        for other in progress
    )
    if later or noticed is None or noticed < item.line.number or item.line.rank not in (None, 0):
        return None
    text = f"the last line before the time-out is work of rank 0 alone: {item.line.text[:80]}"
    return Relation("busy-while-others-wait", text, (0,), (item,), culprit=True)


def behind_in_log(seen: Iterable[Seen], rules: RuleSet) -> Relation | None:
    """Return the rank that logged fewer collectives than all others, where each of them is logged."""
    last: dict[int, tuple[int, Seen]] = {}
    for item in seen:
        values = mark_values(item, rules)
        if "running" in values:
            rank = int(values["comm_of"]) if "comm_of" in values else item.line.rank
            if rank is not None:
                last[rank] = (int(values["running"]), item)
    counts = Counter(number for number, _ in last.values())
    if len(last) < 3 or len(counts) != 2:
        return None
    low, high = min(counts), max(counts)
    late = sorted(rank for rank, (number, _) in last.items() if number == low)
    if len(late) * 2 >= len(last):
        return None
    text = (
        f"rank{'s' * (len(late) > 1)} {', '.join(map(str, late[:6]))} last logged collective {low}, the others {high}"
    )
    return Relation("rank-lags", text, tuple(late), tuple(last[rank][1] for rank in late[:2]), culprit=True)


def named_lost(events: Sequence[Event]) -> Relation | None:
    """Return the rank that a coordinator heard no more of, where it names only one."""
    named = {int(event.values["lost_rank"]): event.seen for event in events if "lost_rank" in event.values}
    if len(named) != 1:
        return None
    ((rank, seen),) = named.items()
    return Relation("peer-lost", f"the coordinator heard no more of rank {rank}", (rank,), (seen,), culprit=True)


def lost_peer(events: Iterable[Event], ranks: Ranks) -> Relation | None:
    """Return the host that most ranks lost their connection to."""
    by_host: dict[str, dict[object, Seen]] = defaultdict(dict)
    for event in events:
        peer = event.values.get("peer", "")
        if event.kind == "collateral" and peer and not peer.isdigit():
            peer = peer.split(".cluster")[0]
            by_host[ranks.addresses.get(peer, peer)][event.who] = event.seen
    if not by_host:
        return None
    host = max(sorted(by_host), key=lambda name: len(by_host[name]))
    namers = by_host[host]
    if len(namers) < _PEERS or len(by_host) > len(namers):
        return None
    lost = ranks.on(host)
    text = f"{len(namers)} ranks lost their connection to {host}"
    few = len(lost) * 2 <= max(len(ranks.known), len(namers) + len(lost))
    return Relation("peer-lost", text, lost, tuple(namers.values())[:3], host=host, culprit=few)
