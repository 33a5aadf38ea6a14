"""Who differs from the rest, by what ranks state of themselves: counts of parameters, sizes, inputs, their end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from denpex_kb.derive.blocks import mark_values
from denpex_kb.derive.collectives import Hang, Relation, rank_list
from denpex_kb.derive.events import Event
from denpex_kb.derive.ranks import Ranks
from denpex_kb.model.events import Seen
from denpex_kb.model.rules import RuleSet

_HANDED_OUT = frozenset({"BROADCAST", "SCATTER", "GATHER"})
_REDUCED = frozenset({"ALLREDUCE", "_ALLGATHER_BASE", "_REDUCE_SCATTER_BASE"})
_REFERENCE = 0  # the rank with which the others compare themselves


def differs(events: Sequence[Event], ranks: Ranks) -> Relation | None:
    """Return the rank that has another number of parameters than all others, or other sizes."""
    return _by_count(events) or _by_reference(events, ranks)


def _by_count(events: Iterable[Event]) -> Relation | None:
    """Of counts that ranks state of themselves and of another, the one that none shares, where the others agree.

    Of two ranks only the one that has none at all is known to be wrong.
    """
    counts: dict[int, int] = {}
    witness: dict[int, Seen] = {}
    for event in events:
        values = event.values
        for who, what in (("reporter", "has"), ("other", "other_has")):
            if what in values and values.get(who, "").isdigit():
                counts.setdefault(int(values[who]), int(values[what]))
                witness.setdefault(int(values[who]), event.seen)
    held = Counter(counts.values())
    if len(held) != 2:
        return None
    (common, most), (rare, few) = held.most_common()
    if few == most:
        rare = 0
        if most != 1 or 0 not in held:
            return None
    odd = sorted(rank for rank, count in counts.items() if count == rare)
    if len(odd) != 1:
        return None
    common = next(count for count in held if count != rare)
    text = f"rank {odd[0]} has {rare} parameters, {rank_list(sorted(counts.keys() - set(odd)))} have {common}"
    return Relation("differs-from-others", text, tuple(odd), tuple(witness.values())[:3], culprit=True)


def _by_reference(events: Iterable[Event], ranks: Ranks) -> Relation | None:
    """Each rank compares itself with rank 0: where one complains it is odd, where all others do, rank 0 is."""
    complaints: dict[int, Seen] = {}
    for event in events:
        if "against" not in event.values or event.values["against"] != str(_REFERENCE):
            continue
        stated = event.values.get("reporter", "")
        rank = int(stated) if stated.isdigit() else event.line.rank
        if rank is not None and rank != _REFERENCE:
            complaints.setdefault(rank, event.seen)
    world = ranks.world_size or (max(ranks.known, default=0) + 1)
    if not complaints or world < 3:
        return None
    if len(complaints) == 1:
        odd = next(iter(complaints))
        text = f"only rank {odd} differs from rank 0, of {world}"
    elif len(complaints) == world - 1:
        odd, text = _REFERENCE, f"all {len(complaints)} other ranks differ from rank 0"
    else:
        return None
    return Relation("differs-from-others", text, (odd,), tuple(complaints.values())[:3], culprit=True)


def without_input(seen: Iterable[Seen], relations: Iterable[Relation], rules: RuleSet) -> Relation | None:
    """Return the rank whose last input held none of something that the inputs of all others held.

    Asked only where ranks are known to be out of step and nothing tells which: what a rank has nothing of it does not
    compute.
    """
    undecided = [relation for relation in relations if relation.name.startswith("same-sequence-different")]
    if not undecided or any(relation.culprit for relation in undecided):
        return None
    last: dict[tuple[str, int], tuple[int, Seen]] = {}
    for item in seen:
        values = mark_values(item, rules)
        if "input_kind" in values and item.line.rank is not None:
            last[values["input_kind"], item.line.rank] = (int(values["input_count"]), item)
    found: dict[int, Seen] = {}
    for kind in {kind for kind, _ in last}:
        held = {rank: pair for (name, rank), pair in last.items() if name == kind}
        empty = [rank for rank, (count, _) in held.items() if not count]
        if len(empty) == 1 and len(held) > 1:
            found[empty[0]] = held[empty[0]][1]
    if len(found) != 1:
        return None
    ((rank, item),) = found.items()
    text = f"rank {rank} had an input without what the others had: {item.line.text[:80]}"
    return Relation("differs-from-others", text, (rank,), (item,), culprit=True)


def beside_the_steps(
    seen: Iterable[Seen], progress: Iterable[Seen], hangs: Iterable[Hang], relations: Iterable[Relation], rules: RuleSet
) -> Relation | None:
    """Return rank 0 where it hands something out, while the other rank reduces, just after work beside the steps.

    That two ranks are in different operations says nothing by itself; a save, or an evaluation, as the last thing told
    before is what mostly rank 0 does alone.
    """
    if any(relation.culprit for relation in relations):
        return None
    asked = [hang for hang in hangs if hang.group == "fingerprint" and len(hang.reports) == 2]
    held = [item for item in seen if "besides" in mark_values(item, rules) and item.line.rank in (None, 0)]
    if len(asked) != 1 or not held:
        return None
    ops = {report.rank: report for report in asked[0].reports}
    if ops.keys() != {0, 1} or ops[0].op not in _HANDED_OUT or ops[1].op not in _REDUCED:
        return None
    told, item = ops[0].seen.line, held[-1]
    steps = [step.line.number for step in progress if step.line.file == item.line.file]
    if item.line.file != told.file or not max(steps, default=0) < item.line.number < told.number:
        return None
    text = f"rank 0 is in a {ops[0].op}, the other rank in an {ops[1].op}, just after: {item.line.text[:80]}"
    return Relation("busy-while-others-wait", text, (0,), (item, ops[0].seen), culprit=True)


def alone_in_hang(
    hangs: Sequence[Hang], ended: dict[int, Seen], leaving: dict[int, Seen], ranks: Ranks
) -> Relation | None:
    """Return the rank that is out of step with those that say they are through, by who waits in vain.

    Whoever ended while most others wait left early; where one waits and most others are through, it is the odd one.
    A reason to leave counts only if none of those that wait gives one as well.
    """
    waiting = {report.rank: report.seen for hang in hangs for report in hang.reports if hang.group != "fingerprint"}
    through = {rank: item for rank, item in ended.items() if rank not in waiting}
    if not through and len(leaving) == 1 and not leaving.keys() & waiting.keys():
        through = leaving
    if not waiting or not through:
        return None
    world = ranks.world_size or max((*waiting, *through)) + 1
    if len(waiting) == 1 and len(through) > 1 and len(through) == world - 1:
        ((rank, item),) = waiting.items()
        text = f"rank {rank} waits in a collective, and the {len(through)} others say that they are through"
        return Relation("rank-left-behind", text, (rank,), (item, *list(through.values())[:2]), culprit=True)
    if len(through) == 1 or len(through) < len(waiting):
        text = f"{rank_list(sorted(through))} had ended in order while the others still waited"
        lines = (*through.values(), *waiting.values())
        return Relation("rank-exited-early", text, tuple(sorted(through)), lines[:3], culprit=True)
    return None
