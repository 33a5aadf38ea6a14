"""What the steps of training show: that there were any, and that they came before the failure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from denpex_kb.derive.collectives import Relation
from denpex_kb.model.events import Line, Seen


def step_relations(progress: Sequence[Seen], failed: Line | None) -> Iterable[Relation]:
    """Derive relations from the last steps that the input shows.

    Signatures name these instead of matching steps themselves: a pattern that matches every step of a long log would
    cost more than all others together.

    Args:
        progress: lines of progress, from the end of each file.
        failed: the line that began the failure, where there is one.
    """
    if not progress:
        return
    yield Relation("steps-seen", "the run completed steps", (), (progress[0],))
    if failed is not None:
        before = [item for item in progress if _precedes(item.line, failed)]
        if before:
            yield Relation("steps-before", "steps were completed before the failure", (), (before[-1],))


def _precedes(left: Line, right: Line) -> bool:
    if left.file == right.file:
        return left.number < right.number
    return left.clock is not None and right.clock is not None and left.clock < right.clock
