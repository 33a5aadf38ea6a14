"""Who began it: the first line of the strongest class, else how a rank ended, else the relation that locates one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from denpex_kb.derive.alike import ALL, is_alone, is_everyone, same_failure
from denpex_kb.derive.behind import rank_behind, ranks_behind
from denpex_kb.derive.collectives import Relation
from denpex_kb.derive.ended import KILL, TOLD_TO_STOP, crashed, first_bad_exit
from denpex_kb.derive.events import CLASSES, Event
from denpex_kb.derive.exits import Exit
from denpex_kb.derive.fold import fold_collateral
from denpex_kb.derive.narrow import narrowed
from denpex_kb.derive.nouns import Began, Overtaken, Scene
from denpex_kb.derive.order import choose, consequences, gap_between
from denpex_kb.model.diagnosis import Initiating

__all__ = ["Began", "Overtaken", "Scene", "began_with", "who_began"]

_AT_ONCE = 5.0  # seconds between the same failure on several ranks, within which neither came first
_NAMING = frozenset({"hardware", "kernel", "mismatch"})  # they name a rank even where the run went on for a while
_WHY = {
    "hardware": "a hardware record, which explains what the ranks report",
    "kernel": "the operating system ended the process",
    "scheduler": "the scheduler ended the job",
    "exception": "its own exception",
    "crash": "the process crashed",
    "mismatch": "the text names the ranks out of step",
    "exit": "the first process to end with an error",
}


def who_began(scene: Scene) -> Began:
    """Find the line that began it, and the rank, from all that is known of an attempt."""
    standing = [event for event in scene.events if not scene.overtaken.get((event.line.file, event.line.number), False)]
    hang = scene.hangs[0] if scene.hangs else None
    follows = consequences(standing, hang, scene.clocks)
    explaining = [event for index, event in enumerate(standing) if event.kind in CLASSES and index not in follows]
    explaining = [event for event in explaining if not _disproved(event, standing)]
    firsts = _first_per_process(explaining)
    located = next((relation for relation in scene.relations if relation.culprit and relation.ranks), None)
    located = narrowed(located, scene) if located is not None and len(located.ranks) > 1 else located
    named = [event for event in firsts if event.kind != "mismatch" or event.ranks]
    chosen = choose(named, scene.clocks)
    crash = None if chosen is not None else crashed(scene)
    if chosen is None and crash is None and located is None:
        chosen = choose([event for event in firsts if event not in named], scene.clocks)
    if chosen is not None:
        return _by_event(chosen, firsts, standing, scene, located)
    if crash is not None:
        return _by_exit(
            crash, standing, scene, _WHY["crash"] if crash[1].code != KILL else "killed, and no line says by whom"
        )
    ended = next((item for item in scene.unnamed if item.code < 0 and item.code not in TOLD_TO_STOP), None)
    if ended is not None and hang is None:
        rank = located.ranks[0] if located is not None and len(located.ranks) == 1 else None
        return _by_exit((rank, ended), standing, scene, "a process was ended, and no line says by whom")
    if located is not None:
        return _by_relation(located, standing, scene)
    peer = next((relation for relation in scene.relations if relation.culprit and relation.host), None)
    if peer is not None:
        return _by_relation(peer, standing, scene)
    before = [event for event in scene.events if event.kind in _NAMING and event.rank is not None]
    before = [event for event in before if scene.overtaken.get((event.line.file, event.line.number), False)]
    if before and any(event.kind in ("summary", "collateral") for event in standing):
        return _by_event(before[0], _first_per_process(before), standing, scene, None)
    plain = first_bad_exit(scene) if hang is None else None
    if plain is not None:
        return _by_exit(plain, standing, scene, _WHY["exit"])
    if (
        hang is None
        and (ended := next((item for item in scene.unnamed if item.code > 0), None)) is not None
        and not scene.exits
    ):
        return _by_exit((None, ended), standing, scene, _WHY["exit"])
    return Began(
        None, None, (), fold_collateral(standing, None, scene), tuple(scene.events), left_alone=scene.left_alone
    )


def began_with(event: Event, scene: Scene) -> Began:
    """Return what a second, independent failure of the attempt began with."""
    standing = [item for item in scene.events if item.host == event.host]
    return _by_event(event, [event], standing, scene, None)


def _by_event(
    chosen: Event, firsts: Sequence[Event], standing: Sequence[Event], scene: Scene, located: Relation | None
) -> Began:
    alike = tuple(event for event in firsts if same_failure(event, chosen))
    involved = sorted({rank for event in alike for rank in event.ranks})
    everyone = is_everyone(chosen, alike, involved, standing, scene)
    together = not everyone and (_at_once(chosen, alike, involved) or _whole_host(chosen, involved, scene))
    rank = None if everyone or is_alone(scene.ranks) else rank_behind(chosen, firsts, standing, scene, located)
    rank = None if together or _of_several(chosen, alike) else rank
    ranks = tuple(involved) if together else ranks_behind(chosen, rank, involved, scene, everyone=everyone)
    host = chosen.host or (scene.ranks.host_of(rank) if rank is not None else None)
    others = [event for event in firsts if event is not chosen and not same_failure(event, chosen)]
    rivals = [event for event in others if event.kind == chosen.kind and event.who != chosen.who]
    initiating = Initiating(
        rank=rank,
        ranks=ranks,
        host=host if not everyone else None,
        time=chosen.line.time,
        file=chosen.line.file,
        line=chosen.line.number,
        text=chosen.line.text[:400],
        confidence=_confidence(chosen, rivals, everyone=everyone),
        why=_why(chosen, involved, others, located, rank, scene, everyone=everyone),
    )
    return Began(
        initiating,
        chosen,
        alike,
        fold_collateral(standing, chosen, scene),
        tuple(scene.events),
        everyone,
        located,
        rivals=tuple(others),
    )


def _at_once(chosen: Event, alike: Sequence[Event], involved: Sequence[int]) -> bool:
    """Whether several ranks, though not all, print the same failure at the same time: none of them came first."""
    if chosen.kind not in ("exception", "crash") or len(involved) < 2:
        return False
    return not any(_apart(event, chosen) for event in alike)


def _apart(event: Event, other: Event) -> bool:
    """Whether one of two events is known to have come later than the other."""
    gap = gap_between(event, other)
    if gap is None or event.span is None or other.span is None or abs(gap) <= _AT_ONCE:
        return False
    return max(event.span.low, other.span.low) - min(event.span.high, other.span.high) > _AT_ONCE


def _of_several(chosen: Event, alike: Sequence[Event]) -> bool:
    """Whether several processes without names raise the same, each in its own words: nothing tells which was first."""
    nameless = [event.line.text for event in alike if event.rank is None]
    return chosen.kind == "exception" and chosen.rank is None and len(set(nameless)) > 1


def _whole_host(chosen: Event, involved: Sequence[int], scene: Scene) -> bool:
    """Whether the ranks that print the same failure are those of one host: it is the host's, not the first one's."""
    if chosen.kind not in ("exception", "crash") or len(involved) < 2:
        return False
    own = set(scene.ranks.on(scene.ranks.host_of(involved[0])))
    return len(own) > 1 and set(involved) <= own and len(involved) >= ALL * len(own)


def _disproved(event: Event, standing: Iterable[Event]) -> bool:
    """Whether a rank that is said to have missed a barrier says that it reached one: then it is at another."""
    if event.name != "monitored-barrier" or event.rank is None:
        return False
    return any("reached" in other.values and other.values["reached"] == str(event.rank) for other in standing)


def _by_exit(found: tuple[int | None, Exit], standing: Sequence[Event], scene: Scene, why: str) -> Began:
    rank, exit_ = found
    line = exit_.seen.line
    event = next((item for item in scene.events if item.seen is exit_.seen), None)
    rank = None if is_alone(scene.ranks) else rank
    initiating = Initiating(
        rank,
        () if rank is None else (rank,),
        exit_.host or (scene.ranks.host_of(rank) if rank is not None else None),
        line.time,
        line.file,
        line.number,
        line.text[:400],
        0.75,
        f"{why} (exit code {exit_.code})",
    )
    return Began(
        initiating, event, (event,) if event else (), fold_collateral(standing, event, scene), tuple(scene.events)
    )


def _by_relation(relation: Relation, standing: Sequence[Event], scene: Scene) -> Began:
    single = relation.ranks[0] if len(relation.ranks) == 1 else None
    line = relation.lines[0].line if relation.lines else None
    hosts = {scene.ranks.host_of(rank) for rank in relation.ranks}
    host = relation.host or (next(iter(hosts)) if len(hosts) == 1 else None)
    complete = relation.coverage in ("", "complete")
    initiating = Initiating(
        single,
        relation.ranks,
        host,
        line.time if line else None,
        line.file if line else None,
        line.number if line else None,
        line.text[:400] if line else "",
        0.8 if complete else 0.65,
        relation.text + (f" ({relation.basis})" if relation.basis else ""),
    )
    return Began(
        initiating,
        None,
        (),
        fold_collateral(standing, None, scene),
        tuple(scene.events),
        relation=relation,
        left_alone=scene.left_alone,
    )


def _first_per_process(events: Iterable[Event]) -> list[Event]:
    """Take the first event of each class that each process printed; records of machines stand for themselves."""
    firsts: dict[object, Event] = {}
    for event in events:
        shared = event.who[0] in ("file", "machine") or event.who[0].startswith("host@")
        key = (event.line.file, event.line.number) if shared else (event.who, event.kind, bool(event.ranks))
        firsts.setdefault(key, event)
    return list(firsts.values())


def _why(
    chosen: Event,
    involved: Sequence[int],
    others: Sequence[Event],
    located: Relation | None,
    rank: int | None,
    scene: Scene,
    *,
    everyone: bool,
) -> str:
    if everyone:
        return f"the same failure on {len(involved) or 'all'} ranks: nobody began it alone"
    reason = "a path between two hosts failed" if "link" in chosen.values else _WHY[chosen.kind]
    if others:
        reason += f"; earlier or stronger than {len(others)} other error lines"
    if located is not None and rank is not None and rank in located.ranks:
        reason += f"; {located.text}"
    if scene.clocks.skew > 1.0 and len(scene.ranks.bases) > 1:
        reason += f" (clocks of the hosts differ by up to {scene.clocks.skew:.1f} s)"
    return reason


def _confidence(chosen: Event, rivals: Sequence[Event], *, everyone: bool) -> float:
    if everyone:
        return 0.9
    base = 0.92 if chosen.kind in ("hardware", "kernel", "exception") else 0.8
    return round(base if not rivals else base - 0.25, 2)
