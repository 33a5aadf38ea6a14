"""Process groups of a few ranks each: who is missing in several of them at the same time."""

from __future__ import annotations

from collections.abc import Sequence

from denpex_kb.derive.collectives import Hang, Relation, Report
from denpex_kb.derive.ranks import Ranks

_LEAST = 2  # reporters of a group, from which on its ranks are known
_SETTLED = 3  # reporters of one group alone, from which on who is missing among them tells


def away_from_groups(hangs: Sequence[Hang], ranks: Ranks) -> Relation | None:
    """Return the one rank that is missing in all the groups that wait.

    The ranks of a group are equally far apart (tensor, pipeline and data groups are), so that two that name both their
    rank in the group and in the job tell the others. A rank that waits in one group itself holds up no other: whoever
    is missing there does.
    """
    if ranks.world_size is None and not ranks.known:
        return None
    world = ranks.world_size or max(ranks.known) + 1
    waiting = {report.rank for hang in hangs for report in hang.reports}
    absent: list[tuple[set[int], Hang]] = []
    single: list[Report] = []
    for hang in hangs:
        if hang.group in ("", "0", "fingerprint") or len(hang.reports) >= world - 1:
            continue
        missing = _missing(hang.reports, world) if len(hang.reports) >= _LEAST else None
        if missing is None:
            single += hang.reports
        elif missing - waiting:
            absent.append((missing - waiting, hang))
    if not absent:
        return None
    everywhere = set.intersection(*(left for left, _ in absent))
    if len(everywhere) != 1:
        return None
    rank = next(iter(everywhere))
    if any(not _could_wait_for(report, rank) for report in single):
        return None
    groups = len(absent) + len({report.group for report in single if report.members})
    if groups < _LEAST and (len(absent[0][1].reports) < _SETTLED or not _is_gap(absent[0][1].reports, rank)):
        return None
    where = (
        f"all {groups} process groups that wait" if groups > 1 else f"process group {absent[0][1].group}, which waits"
    )
    lines = tuple(hang.reports[0].seen for _, hang in absent[:3])
    return Relation(
        "missing-reporter", f"rank {rank} is the one that is missing in {where}", (rank,), lines, culprit=True
    )


def _could_wait_for(report: Report, rank: int) -> bool:
    """Whether a rank may be a member of the group in which another, the only one that reports, waits."""
    place = report.seen.line.group_rank
    if place is None:
        return True
    size = report.members or max(place, abs(rank - report.rank)) + 2
    steps = {abs(rank - report.rank) // away for away in range(1, size) if not abs(rank - report.rank) % away}
    return any(step >= 1 and report.rank - place * step >= 0 for step in steps)


def _is_gap(reports: Sequence[Report], rank: int) -> bool:
    """Whether a missing rank lies between those that report, or the size of the group is known."""
    return min(report.rank for report in reports) < rank < max(report.rank for report in reports) or all(
        report.members for report in reports
    )


def _missing(reports: Sequence[Report], world: int) -> set[int] | None:
    """Return the ranks of a group that do not report; None where its ranks are not known."""
    places = {report.seen.line.group_rank: report.rank for report in reports if report.seen.line.group_rank is not None}
    if len(places) < _LEAST or len(places) != len(reports):
        return None
    (low, first), *_, (high, last) = sorted(places.items())
    step, left = divmod(last - first, high - low)
    base = first - low * step
    if left or step < 1 or base < 0 or any(base + place * step != rank for place, rank in places.items()):
        return None
    sizes = {report.members for report in reports} - {None}
    size = sizes.pop() if len(sizes) == 1 else None
    if size is None or size <= high:
        size = high + 2 if base + (high + 1) * step < world and len(places) == high + 1 else high + 1
    return {base + place * step for place in range(size)} - set(places.values())
