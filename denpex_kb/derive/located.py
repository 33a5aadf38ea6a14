"""What stack dumps and traces locate: relations between ranks, and the ranks that stand apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, structs

from denpex_kb.derive.began import Scene
from denpex_kb.derive.collectives import Relation
from denpex_kb.derive.flight import Standing, compare_traces, standings
from denpex_kb.derive.progress import RunState
from denpex_kb.derive.stacks import FrameRoles, Stood, find_stack_relations, give_ranks
from denpex_kb.model.events import Reading
from denpex_kb.model.flight import Trace
from denpex_kb.model.rules import RuleSet
from denpex_kb.model.stacks import Process

_STACKS = "holds stacks"  # in the reason of a stall that only a dump shows


class Located(Struct, frozen=True):
    """What the dumps of an input say together."""

    relations: tuple[Relation, ...] = ()  # traces in front: they count calls, a stack shows one moment
    at_work: str = ""
    seen: str = ""  # where the ranks stand, if too few stacks are there to compare
    stacks: bool = False  # whether there are stack dumps
    stood: tuple[Stood, ...] = ()  # where each rank stood, by its stack
    standings: Mapping[int, Standing] = {}  # and by its trace

    def enter(self, scene: Scene) -> Scene:
        """Add the relations to what is known of the attempt of which the dumps were taken.

        Lag, mismatch and silence locate, an exception explains: neither replaces the other.
        """
        return structs.replace(scene, relations=(*self.relations, *scene.relations))

    def tell(self, state: RunState, *, hung: bool) -> RunState:
        """Say where the ranks stand; take back a stall that only stacks of ranks at work suggest."""
        if state.outcome != "stalled" or hung or _STACKS not in state.why:
            return state
        if self.at_work:
            why = f"the input holds stacks, and {self.at_work}: a second dump a minute later shows whether they move"
            return structs.replace(state, outcome="unknown", why=why)
        why = state.why if self.stacks else "the input holds traces of collectives that were never completed"
        told = "; and ".join(relation.text for relation in self.relations) or self.seen
        return structs.replace(state, why=f"{why}: {told}" if told else why)


def locate(
    processes: Sequence[Process],
    traces: Sequence[Trace],
    readings: Iterable[Reading],
    rules: RuleSet,
    notes: Mapping[str, str],
    world_size: int | None,
) -> Located:
    """Compare the stacks of all ranks, and their traces.

    Args:
        processes: what the dumps show.
        traces: what the flight recorder kept.
        readings: everything that was read; its lines already have their ranks.
        rules: the compiled catalog.
        notes: mark id → its note.
        world_size: how many ranks there are, where that is known.
    """
    relations = compare_traces(traces)
    if not processes:
        return Located(relations, standings=standings(traces))
    give_ranks(processes, readings)
    found = find_stack_relations(processes, FrameRoles(rules, notes), world_size)
    return Located((*relations, *found.relations), found.at_work, found.seen, True, found.stood, standings(traces))
