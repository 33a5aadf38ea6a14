"""The events that only follow from a failure, folded by kind."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from denpex_kb.derive.events import Event
from denpex_kb.derive.nouns import Scene
from denpex_kb.model.diagnosis import Collateral, EventPlace


def fold_collateral(events: Iterable[Event], chosen: Event | None, scene: Scene) -> tuple[Collateral, ...]:
    """Fold collateral events and those of processes that were told to stop, the commonest kind in front."""
    groups: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        if event is chosen:
            continue
        told = (
            event.kind == "exit"
            and chosen is not None
            and event.values.get("exitcode", "").lstrip("-") in ("15", "143", "2", "130")
        )
        if event.kind in ("collateral", "teardown") or told:
            groups[event.name].append(event)
    folded = []
    for name, members in groups.items():
        first = members[0].line
        folded.append(
            Collateral(
                tuple(sorted({event.line.rank for event in members if event.line.rank is not None})),
                name,
                len(members),
                EventPlace(first.file, first.number, first.rank, first.text[:300]),
                scene.reasons.get(name) or "follows from a failure elsewhere",
            )
        )
    return tuple(sorted(folded, key=lambda item: -item.count))
