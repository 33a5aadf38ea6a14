"""Of several ranks that a relation points at, the one at which something else points as well."""

from __future__ import annotations

from msgspec import structs

from denpex_kb.derive.collectives import Relation
from denpex_kb.derive.ended import TOLD_TO_STOP
from denpex_kb.derive.nouns import Scene

_EARLIER = 1.0  # seconds, beyond what the clocks of the hosts differ by


def narrowed(relation: Relation, scene: Scene) -> Relation:
    """Keep the one of several ranks that another relation names too, or that ended before all other processes did."""
    for other in scene.relations:
        common = set(relation.ranks) & set(other.ranks)
        if other is not relation and other.culprit and len(common) == 1:
            rank = next(iter(common))
            return structs.replace(relation, ranks=(rank,), text=f"{relation.text}; {other.text}")
    first = first_to_end(scene)
    if first is None or first not in relation.ranks:
        return relation
    return structs.replace(relation, ranks=(first,), text=f"{relation.text}; rank {first} had ended before all others")


def first_to_end(scene: Scene) -> int | None:
    """Return the process that ended with an error clearly before all others did."""
    ends: dict[int, float] = {}
    for rank, exit_ in scene.exits:
        time = scene.clocks.of(exit_.seen.line)
        if time is not None and exit_.code != 0 and exit_.code not in TOLD_TO_STOP:
            ends[rank] = min(ends.get(rank, time), time)
    if len(ends) < 2:
        return None
    (rank, first), (_, second), *_ = sorted(ends.items(), key=lambda item: item[1])
    return rank if second - first > _EARLIER + scene.clocks.skew else None
