"""What only several ranks together show; each relation keeps its witnesses and its coverage."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from msgspec import Struct

from denpex_kb.derive.began import Began
from denpex_kb.derive.ranks import Ranks, mark_values
from denpex_kb.model.events import Seen
from denpex_kb.model.rules import RuleSet


class Relation(Struct, frozen=True):
    """A relation that holds: the ranks it points at and the lines that show it."""

    name: str
    text: str
    ranks: tuple[int, ...] = ()
    lines: tuple[Seen, ...] = ()
    expected: tuple[int, ...] = ()
    observed: tuple[int, ...] = ()
    basis: str = ""


class _Report(Struct, frozen=True):
    """What one rank's watchdog says of the collective it waits in."""

    rank: int
    group: str
    seq: int
    op: str
    size: str
    seen: Seen


def find_relations(seen: Sequence[Seen], rules: RuleSet, ranks: Ranks, began: Began) -> dict[str, Relation]:
    """Find every relation that holds in one attempt."""
    found = [*_collectives(list(_reports(seen, rules)), ranks), *_alike(began), *_local(began, ranks)]
    return {relation.name: relation for relation in found}


def _reports(seen: Iterable[Seen], rules: RuleSet) -> Iterable[_Report]:
    for item in seen:
        values = mark_values(item, rules)
        if "seq" in values and "op" in values and item.line.rank is not None:
            yield _Report(
                item.line.rank,
                values.get("group", ""),
                int(values["seq"]),
                values["op"],
                values.get("numel_in", ""),
                item,
            )


def _collectives(reports: Sequence[_Report], ranks: Ranks) -> Iterable[Relation]:
    """Compare only within one process group: sequence numbers of different groups mean different things."""
    groups: dict[str, dict[int, _Report]] = defaultdict(dict)
    for report in reports:
        groups[report.group].setdefault(report.rank, report)
    for members in groups.values():
        values = list(members.values())
        if len(values) < 2 and ranks.world_size != 1:
            continue
        sequences = {report.seq for report in values}
        lines = tuple(report.seen for report in values[:4])
        if len(sequences) > 1:
            lowest = min(sequences)
            late = tuple(sorted(report.rank for report in values if report.seq == lowest))
            if len(late) < len(values):
                yield Relation(
                    "rank-lags", f"rank {late} waits in collective {lowest}, others in {max(sequences)}", late, lines
                )
        elif len({report.op for report in values}) > 1:
            yield Relation("same-sequence-different-op", "one sequence number, different operations", (), lines)
        elif len({report.size for report in values if report.size}) > 1:
            yield Relation("same-sequence-different-size", "one sequence number, different sizes", (), lines)
        elif ranks.world_size is not None and len(values) == ranks.world_size:
            yield Relation("same-collective-everywhere", "all ranks wait in the same collective", (), lines)
        missing = set(range(ranks.world_size or 0)) - set(members) if ranks.world_size else set()
        if missing and set(ranks.known) >= missing:
            yield Relation(
                "missing-reporter",
                "these ranks never reported the time-out that the others report",
                tuple(sorted(missing)),
                lines,
                tuple(range(ranks.world_size or 0)),
                tuple(sorted(members)),
                f"world size {ranks.world_size}",
            )


def _local(began: Began, ranks: Ranks) -> Iterable[Relation]:
    """One rank raised an exception of its own, in a job of several."""
    event = began.event
    several = len(ranks.known) > 1 or (ranks.world_size or 1) > 1 or bool(began.collateral)
    if (
        event is not None
        and event.kind == "exception"
        and several
        and began.initiating is not None
        and not began.initiating.ranks[1:]
    ):
        rank = event.seen.line.rank
        yield Relation(
            "local-exception", "one rank raised an exception of its own", () if rank is None else (rank,), (event.seen,)
        )


def _alike(began: Began) -> Iterable[Relation]:
    if began.initiating is not None and began.initiating.rank is None and len(began.initiating.ranks) > 1:
        lines = tuple(event.seen for event in began.alike[:3])
        yield Relation("all-ranks-fail-alike", "all ranks print the same failure", began.initiating.ranks, lines)
