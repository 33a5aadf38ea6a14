"""What became of every rank, with the line that proves it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from denpex_kb.derive.blocks import marks_of
from denpex_kb.derive.collectives import Relation
from denpex_kb.derive.nouns import Began, Scene
from denpex_kb.model.diagnosis import EventPlace, RankState, State
from denpex_kb.model.events import Line, Seen
from denpex_kb.model.rules import RuleSet

_TOLD_TO_STOP = frozenset({-15, -2, 143, 130})


def rank_states(
    scene: Scene,
    began: Began,
    relations: Mapping[str, Relation],
    seen: Iterable[Seen],
    progress: Mapping[int, str],
    rules: RuleSet,
) -> tuple[RankState, ...]:
    """Return the state of every known or expected rank.

    Absence is evidence only with an expectation and with coverage: a rank of which the input holds nothing at all is
    unknown, never silent.
    """
    missing = _missing(scene, relations)
    everyone = set(scene.ranks.known) | set(range(scene.ranks.world_size or 0))
    began_ranks = set(began.initiating.ranks) if began.initiating is not None and not began.everyone else set()
    proofs = _Proofs(scene, began, missing, seen, rules)
    return tuple(
        RankState(rank, *proofs.of(rank, initiating=rank in began_ranks), progress.get(rank))
        for rank in sorted(everyone)
    )


def silent_ranks(scene: Scene, relations: Mapping[str, Relation]) -> tuple[int, ...]:
    """Return the ranks that should have reported, could have been seen, and did not."""
    missing = _missing(scene, relations)
    known = set(scene.ranks.known)
    return tuple(rank for rank in missing.ranks if rank in known) if missing is not None else ()


def _missing(scene: Scene, relations: Mapping[str, Relation]) -> Relation | None:
    """Return who did not report, also where the failure explains it, so that it is no relation of the failure."""
    held = relations.get("missing-reporter")
    return held or next((relation for relation in scene.relations if relation.name == "missing-reporter"), None)


class _Proofs:
    """The first line of each kind, by rank."""

    def __init__(
        self, scene: Scene, began: Began, missing: Relation | None, seen: Iterable[Seen], rules: RuleSet
    ) -> None:
        self.began = began
        self.first: dict[str, dict[int, Line]] = {"collateral": {}, "torn-down": {}, "completed": {}}
        for event in scene.events:
            self._event(event.kind, event.name, event.rank, event.line)
        for rank, exit_ in scene.exits:
            if exit_.code in _TOLD_TO_STOP:
                self.first["torn-down"].setdefault(rank, exit_.seen.line)
            elif exit_.code == 0:
                self.first["completed"].setdefault(rank, exit_.seen.line)
            else:
                self.first["collateral"].setdefault(rank, exit_.seen.line)
        for item in seen:
            if item.line.rank is not None and "completion" in marks_of(item, rules):
                self.first["completed"].setdefault(item.line.rank, item.line)
        known = set(scene.ranks.known)
        self.silent = {rank for rank in missing.ranks if rank in known} if missing is not None else set()
        self.witness = missing.lines[0].line if missing is not None and missing.lines else None
        self.alike = {rank: event.line for event in began.alike for rank in event.ranks}

    def _event(self, kind: str, name: str, rank: int | None, line: Line) -> None:
        if kind == "collateral" and line.rank is not None:
            self.first["collateral"].setdefault(line.rank, line)
        elif name == "torchrun-closing-signal" and rank is not None:
            self.first["torn-down"].setdefault(rank, line)
        elif kind in ("exception", "crash") and rank is not None:
            self.first["collateral"].setdefault(rank, line)

    def of(self, rank: int, *, initiating: bool) -> tuple[State, EventPlace | None]:
        """Return the state of one rank and its proof."""
        if initiating or rank in self.alike:
            began = self.began.initiating
            line = self.alike.get(rank)
            if line is not None:
                return "initiating", place_of_line(line)
            proof = (
                EventPlace(began.file, began.line or 0, rank, began.text) if began is not None and began.file else None
            )
            return "initiating", proof
        if rank in self.first["collateral"]:
            return "collateral", place_of_line(self.first["collateral"][rank])
        if rank in self.first["torn-down"]:
            return "torn-down", place_of_line(self.first["torn-down"][rank])
        if rank in self.first["completed"]:
            return "completed", place_of_line(self.first["completed"][rank])
        if rank in self.silent:
            return "silent", place_of_line(self.witness) if self.witness is not None else None
        return "unknown", None


def place_of_line(line: Line) -> EventPlace:
    """Quote a line with its place."""
    return EventPlace(line.file, line.number, line.rank, line.text[:300])
