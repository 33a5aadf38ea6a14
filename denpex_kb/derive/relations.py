"""Every relation that holds in one attempt, by name: what entries may name as a signature."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from denpex_kb.derive.alike import same_failure
from denpex_kb.derive.collectives import Relation
from denpex_kb.derive.ended import KILL, TOLD_TO_STOP
from denpex_kb.derive.nouns import Began, Scene

_OF_A_PROCESS = frozenset({"exception", "crash", "exit"})  # what one process tells of its own end


def relations_of(scene: Scene, began: Began, earlier: Sequence[Began] = ()) -> dict[str, Relation]:
    """Return the relations that locate, and those that follow from who began it.

    Args:
        scene: the attempt.
        began: who began its failure.
        earlier: who began the failures of the attempts before it.
    """
    named: dict[str, Relation] = {}
    standing = [relation for relation in scene.relations if not _explained(relation, began, scene)]
    for relation in (*standing, *_alike(began), *_local(scene, began), *_killed(scene, began), *_again(began, earlier)):
        if relation.name not in named or (relation.culprit and not named[relation.name].culprit):
            named[relation.name] = relation
    return named


def _explained(relation: Relation, began: Began, scene: Scene) -> bool:
    """Whether what began the failure tells why ranks are silent, or why a host is lost: neither is one on its own."""
    if began.initiating is None or began.initiating.rank is None:
        return False
    if began.event is None and began.relation is relation:
        return False  # it is what began it, as far as is known
    rank = began.initiating.rank
    if relation.name == "peer-lost":
        return rank in relation.ranks
    if relation.name != "missing-reporter":
        return False
    stuck = began.relation is not None and began.relation.name == "watchdog-stuck"
    if stuck or (began.event is not None and began.event.kind in _OF_A_PROCESS):
        return True
    ended = {rank for rank, end in scene.exits if end.code > 0 and end.code not in TOLD_TO_STOP}
    return len(relation.ranks) > 1 and rank in relation.ranks and rank in ended


def _local(scene: Scene, began: Began) -> Iterable[Relation]:
    """One rank raised an exception of its own, in a job of several; one that names a lost peer is not its own."""
    event, ranks = began.event, scene.ranks
    several = ranks.several or len(ranks.known) > 1 or (ranks.world_size or 1) > 1 or bool(began.collateral)
    if event is None or event.kind != "exception" or not several or began.everyone or event.follows:
        return
    if event.rank is None and len(began.alike) > 1:
        return  # several processes raised it, and nothing tells how many
    if began.initiating is not None and not began.initiating.ranks[1:]:
        rank = event.line.rank
        yield Relation(
            "local-exception", "one rank raised an exception of its own", () if rank is None else (rank,), (event.seen,)
        )


def _killed(scene: Scene, began: Began) -> Iterable[Relation]:
    """The failure began with a process that was killed with SIGKILL."""
    if began.event is None or began.initiating is None or began.event.kind != "exit":
        return
    if scene.overtaken.get((began.event.line.file, began.event.line.number), False):
        return  # the run went on
    for rank, end in scene.exits:
        if end.seen is began.event.seen and end.code in (KILL, 137):
            yield Relation(
                "killed-first", f"rank {rank} was killed before any other process ended", (rank,), (end.seen,)
            )
            return


def _again(began: Began, earlier: Sequence[Began]) -> Iterable[Relation]:
    """The attempts before failed for the same reason: another restart will not help."""
    event = began.event
    if event is None:
        return
    failures = [other.event for other in earlier if other.event is not None]
    same = [failure for failure in failures if same_failure(failure, event)]
    if same:
        text = f"{len(same) + 1} attempts failed for the same reason: a restart will not help"
        yield Relation("same-cause-each-attempt", text, event.ranks, (same[0].seen, event.seen))


def _alike(began: Began) -> Iterable[Relation]:
    if began.everyone and began.initiating is not None:
        lines = tuple(event.seen for event in began.alike[:3])
        yield Relation("all-ranks-fail-alike", "all ranks print the same failure", began.initiating.ranks, lines)
