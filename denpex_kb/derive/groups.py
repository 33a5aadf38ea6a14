"""Process groups of a few ranks each: who is missing in several of them at the same time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from denpex_kb.derive.collectives import Hang, Relation, Report
from denpex_kb.derive.ranks import Ranks

_LEAST = 2  # reporters of a group, from which on its ranks are known


def away_from_groups(hangs: Sequence[Hang], ranks: Ranks) -> Relation | None:
    """Return the one rank that is missing in all the groups that wait, where there are several of them.

    The ranks of a group are equally far apart (tensor, pipeline and data groups are), so that two that name both their
    rank in the group and in the job tell the others. A rank that waits in one group itself holds up no other.
    """
    if ranks.world_size is None and not ranks.known:
        return None
    world = ranks.world_size or max(ranks.known) + 1
    waiting = {report.rank for hang in hangs for report in hang.reports}
    absent: Counter[int] = Counter()
    seen = []
    groups = 0
    for hang in hangs:
        if hang.group in ("", "0", "fingerprint") or len(hang.reports) < _LEAST or len(hang.reports) >= world - 1:
            continue
        missing = _missing(hang.reports, world)
        if missing is None:
            continue
        groups += 1
        absent.update(missing - waiting)
        seen.append(hang.reports[0].seen)
    everywhere = [rank for rank, count in absent.items() if count == groups]
    if groups < _LEAST or len(everywhere) != 1:
        return None
    rank = everywhere[0]
    text = f"rank {rank} is the one that is missing in all {groups} process groups that wait"
    return Relation("missing-reporter", text, (rank,), tuple(seen[:3]), culprit=True)


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
