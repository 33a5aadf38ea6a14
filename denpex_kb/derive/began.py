"""Who began it: the first line of the strongest class, else the relation that locates a rank; and what only followed."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from denpex_kb.derive.clocks import Clocks
from denpex_kb.derive.collectives import Hang, Relation
from denpex_kb.derive.events import CLASSES, Event
from denpex_kb.derive.exits import Exit
from denpex_kb.derive.order import choose, consequences, gap_between
from denpex_kb.derive.ranks import Ranks
from denpex_kb.model.diagnosis import Collateral, EventPlace, Initiating

_NOISE = re.compile(r"0x[0-9a-fA-F]+|\d+|'[^']{1,80}'|\"[^\"]{1,80}\"|/[\w./-]+")
_TOLD_TO_STOP = frozenset({-15, -2, -1, 15, 143, 130, 129})
_CRASHES = frozenset({-4, -7, -8, -11, -25})
_ABORT, _KILL = -6, -9
_ALL = 0.8  # of the ranks that could fail, those that fail alike
_NAMING = frozenset({"hardware", "kernel", "mismatch"})  # they name a rank even where the run went on for a while
_RECORD_WINDOW = 120.0
_WHY = {
    "hardware": "a hardware record, which explains what the ranks report",
    "kernel": "the operating system ended the process",
    "scheduler": "the scheduler ended the job",
    "exception": "its own exception",
    "crash": "the process crashed",
    "mismatch": "the text names the ranks out of step",
    "exit": "the first process to end with an error",
}

Overtaken = Mapping[tuple[str, int], bool]


class Began(Struct, frozen=True):
    """What began the failure and what followed."""

    initiating: Initiating | None
    event: Event | None
    alike: tuple[Event, ...]  # the same failure on the other ranks
    collateral: tuple[Collateral, ...]
    events: tuple[Event, ...]
    everyone: bool = False
    relation: Relation | None = None  # what located the rank, where no line names it
    left_alone: str = ""  # why the run stands still although a rank reports its end
    rivals: tuple[Event, ...] = ()  # lines that explain too, and do not follow from the event


class Scene(Struct, frozen=True):
    """What is known of one attempt before anybody is accused."""

    events: tuple[Event, ...]
    exits: tuple[tuple[int, Exit], ...]  # rank, how it ended
    unnamed: tuple[Exit, ...]  # processes of which nothing tells the rank
    hangs: tuple[Hang, ...]
    relations: tuple[Relation, ...]  # the ones that locate, the most telling first
    ranks: Ranks
    clocks: Clocks
    overtaken: Overtaken
    reasons: Mapping[str, str]  # mark id → why such a line is collateral
    left_alone: str = ""


def who_began(scene: Scene) -> Began:
    """Find the line that began it, and the rank, from all that is known of an attempt."""
    standing = [event for event in scene.events if not scene.overtaken.get((event.line.file, event.line.number), False)]
    hang = scene.hangs[0] if scene.hangs else None
    follows = consequences(standing, hang, scene.clocks)
    explaining = [event for index, event in enumerate(standing) if event.kind in CLASSES and index not in follows]
    explaining = [event for event in explaining if not _disproved(event, standing)]
    firsts = _first_per_process(explaining)
    located = next((relation for relation in scene.relations if relation.culprit and relation.ranks), None)
    named = [event for event in firsts if event.kind != "mismatch" or event.ranks]
    chosen = choose(named, scene.clocks)
    crash = None if chosen is not None else _crashed(scene)
    if chosen is None and crash is None and located is None:
        chosen = choose([event for event in firsts if event not in named], scene.clocks)
    if chosen is not None:
        return _by_event(chosen, firsts, standing, scene, located)
    if crash is not None:
        return _by_exit(crash, standing, scene, _WHY["crash"] if crash[1].code != _KILL else "killed, and no line says by whom")
    ended = next((item for item in scene.unnamed if item.code < 0 and item.code not in _TOLD_TO_STOP), None)
    if ended is not None and hang is None:
        rank = located.ranks[0] if located is not None and len(located.ranks) == 1 else None
        return _by_exit((rank, ended), standing, scene, "a process was ended, and no line says by whom")
    if located is not None:
        return _by_relation(located, standing, scene)
    before = [event for event in scene.events if event.kind in _NAMING and event.rank is not None]
    if before and any(event.kind in ("summary", "collateral") for event in standing):
        return _by_event(before[0], _first_per_process(before), standing, scene, None)
    plain = _first_bad_exit(scene) if hang is None else None
    if plain is not None:
        return _by_exit(plain, standing, scene, _WHY["exit"])
    if hang is None and (ended := next((item for item in scene.unnamed if item.code > 0), None)) is not None and not scene.exits:
        return _by_exit((None, ended), standing, scene, _WHY["exit"])
    return Began(None, None, (), _fold(standing, None, scene), tuple(scene.events), left_alone=scene.left_alone)


def began_with(event: Event, scene: Scene) -> Began:
    """Return what a second, independent failure of the attempt began with."""
    standing = [item for item in scene.events if item.host == event.host]
    return _by_event(event, [event], standing, scene, None)


def _by_event(chosen: Event, firsts: Sequence[Event], standing: Sequence[Event], scene: Scene, located: Relation | None) -> Began:
    alike = tuple(event for event in firsts if _same(event, chosen))
    involved = sorted({rank for event in alike for rank in event.ranks})
    everyone = _everyone(chosen, alike, involved, standing, scene)
    rank = None if everyone or _alone(scene.ranks) else _rank_of(chosen, firsts, standing, scene, located)
    ranks = _ranks_of(chosen, rank, involved, scene, everyone=everyone)
    host = chosen.host or (scene.ranks.host_of(rank) if rank is not None else None)
    others = [event for event in firsts if event is not chosen and not _same(event, chosen)]
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
        initiating, chosen, alike, _fold(standing, chosen, scene), tuple(scene.events), everyone, located, rivals=tuple(others)
    )


def _rank_of(chosen: Event, firsts: Sequence[Event], standing: Sequence[Event], scene: Scene, located: Relation | None) -> int | None:
    """Return the rank that an event names, else the one that ended, or was missed, as such an event makes it."""
    if chosen.rank is not None:
        return chosen.rank
    if len(chosen.ranks) > 1 or "reporter" in chosen.values or "link" in chosen.values:
        return None
    host = set(scene.ranks.on(chosen.host)) if chosen.host is not None else set()

    def fits(rank: int) -> bool:
        return not host or rank in host

    pid = chosen.values.get("pid")
    near = [
        event
        for event in (*firsts, *standing)
        if event is not chosen and event.rank is not None and fits(event.rank) and _near(event, chosen)
    ]
    by_pid = {event.rank for event in standing if pid and event.values.get("pid") == pid and event.rank is not None and fits(event.rank)}
    same_class = {event.rank for event in near if event.kind == chosen.kind}
    if chosen.kind in ("hardware", "kernel", "scheduler"):
        own = {event.rank for event in near if event.kind in ("exception", "crash") and event in firsts}
    else:
        own = set()
    own |= {event.rank for event in standing if event.name == "ray-dead-pid" and event.rank is not None and fits(event.rank)}
    ended = {rank for rank, exit_ in scene.exits if exit_.code in _codes(chosen) and fits(rank)}
    missed = set(located.ranks) if located is not None and located.culprit else set()
    for ranks in (by_pid, same_class, own, ended, {rank for rank in missed if fits(rank)}):
        if len(ranks) == 1:
            return next(iter(ranks))
    return None


def _near(event: Event, other: Event) -> bool:
    gap = gap_between(event, other)
    return gap is None or abs(gap) <= _RECORD_WINDOW


def _codes(event: Event) -> frozenset[int]:
    """Return the exit codes with which such an event ends a process."""
    if event.kind == "exception":
        return frozenset({1})
    if event.kind == "kernel" or (event.kind == "scheduler" and ("oom" in event.name or "memory" in event.name)):
        return frozenset({_KILL, 137}) | (_CRASHES if event.name in ("kernel-segfault", "kernel-trap") else frozenset())
    if event.kind in ("crash", "mismatch"):
        return _CRASHES | {_ABORT}
    return frozenset()


def _ranks_of(chosen: Event, rank: int | None, involved: Sequence[int], scene: Scene, *, everyone: bool) -> tuple[int, ...]:
    if everyone:
        return tuple(involved)
    if rank is not None:
        return (rank,)
    if len(chosen.ranks) > 1:
        return chosen.ranks
    if chosen.kind == "scheduler" and "node" in chosen.name:
        return scene.ranks.on(chosen.host)
    return ()


def _everyone(chosen: Event, alike: Sequence[Event], involved: Sequence[int], standing: Sequence[Event], scene: Scene) -> bool:
    """Whether the failure is that of all ranks, so that nobody began it: all print it, or all that print anything do."""
    processes = len({event.who for event in alike})
    ranks = scene.ranks
    expected = max(ranks.world_size or len(ranks.known), 1)
    if chosen.kind == "exception" and chosen.rank is None and _all_raise(standing, expected):
        return True
    if max(processes, len(involved)) < 2 or chosen.kind not in ("exception", "crash", "mismatch", "hardware"):
        return False
    if len(involved) > 1 and len(involved) >= _ALL * expected:
        return True
    if chosen.kind != "exception":
        return False
    victims = {event.line.rank for event in standing if event.kind == "collateral" and event.line.rank is not None} - set(involved)
    return not victims and not scene.hangs and processes > 1


def _all_raise(standing: Iterable[Event], expected: int) -> bool:
    """Whether nearly all ranks raise the same exception, where the first line of it says not whose it is."""
    by_text: dict[str, set[int]] = defaultdict(set)
    for event in standing:
        if event.kind == "exception" and event.rank is not None:
            by_text[core_text(event.line.text)].add(event.rank)
    return any(len(ranks) > 1 and len(ranks) >= _ALL * expected for ranks in by_text.values())


def _alone(ranks: Ranks) -> bool:
    """Say whether the job has one rank, as far as the input shows: then no rank began it before another."""
    return not ranks.several and (ranks.world_size or 1) == 1


def _disproved(event: Event, standing: Iterable[Event]) -> bool:
    """A rank that is said to have missed a barrier, and says that it reached one, is only at another than the accuser."""
    if event.name != "monitored-barrier" or event.rank is None:
        return False
    return any(other.name == "barrier-bystander" and other.values.get("rank") == str(event.rank) for other in standing)


def _crashed(scene: Scene) -> tuple[int, Exit] | None:
    """Return the rank that a signal ended, where it is one, or one of few, and did not end after a time-out of its own."""
    lost = {event.line.rank for event in scene.events if event.kind == "collateral"}
    forced = {event.values.get("pid") for event in scene.events if event.name == "torchrun-forced"}
    signalled = [
        (rank, exit_)
        for rank, exit_ in scene.exits
        if exit_.code in _CRASHES
        or (exit_.code in (_KILL, 137) and str(exit_.pid) not in forced)
        or (exit_.code == _ABORT and rank not in lost and not scene.hangs)
    ]
    others = {rank for rank, _ in scene.exits} - {rank for rank, _ in signalled}
    if not signalled or (len({rank for rank, _ in signalled}) > 1 and not others and len(signalled) >= len(scene.ranks.known)):
        return None
    hard = [item for item in signalled if item[1].code in _CRASHES] or signalled
    return hard[0]


def _first_bad_exit(scene: Scene) -> tuple[int, Exit] | None:
    """Return the first process that ended with an error of its own; nobody where all of them did alike."""
    bad = [(rank, exit_) for rank, exit_ in scene.exits if exit_.code not in _TOLD_TO_STOP and exit_.code != 0]
    lost = {event.line.rank for event in scene.events if event.kind == "collateral"}
    if len({exit_.code for _, exit_ in bad}) == 1 and len({rank for rank, _ in bad}) > 1:
        bad = [] if len({rank for rank, _ in bad}) >= _ALL * max(len(scene.ranks.known), 1) else bad
    return next(((rank, exit_) for rank, exit_ in bad if rank not in lost), None)


def _by_exit(found: tuple[int | None, Exit], standing: Sequence[Event], scene: Scene, why: str) -> Began:
    rank, exit_ = found
    line = exit_.seen.line
    event = next((item for item in scene.events if item.seen is exit_.seen), None)
    rank = None if _alone(scene.ranks) else rank
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
    return Began(initiating, event, (event,) if event else (), _fold(standing, event, scene), tuple(scene.events))


def _by_relation(relation: Relation, standing: Sequence[Event], scene: Scene) -> Began:
    single = relation.ranks[0] if len(relation.ranks) == 1 else None
    line = relation.lines[0].line if relation.lines else None
    hosts = {scene.ranks.host_of(rank) for rank in relation.ranks}
    host = next(iter(hosts)) if len(hosts) == 1 else None
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
        initiating, None, (), _fold(standing, None, scene), tuple(scene.events), relation=relation, left_alone=scene.left_alone
    )


def _first_per_process(events: Iterable[Event]) -> list[Event]:
    """Take the first event of each class that each process printed; records of machines stand for themselves."""
    firsts: dict[object, Event] = {}
    for event in events:
        shared = event.who[0] in ("file", "machine") or event.who[0].startswith("host@")
        key = (event.line.file, event.line.number) if shared else (event.who, event.kind)
        firsts.setdefault(key, event)
    return list(firsts.values())


def core_text(text: str) -> str:
    """Return a message without what differs from rank to rank."""
    return _NOISE.sub("N", text)[:200]


def _same(left: Event, right: Event) -> bool:
    return left.kind == right.kind and core_text(left.line.text) == core_text(right.line.text)


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


def _fold(events: Iterable[Event], chosen: Event | None, scene: Scene) -> tuple[Collateral, ...]:
    groups: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        if event is chosen:
            continue
        told = event.kind == "exit" and chosen is not None and event.values.get("exitcode", "").lstrip("-") in ("15", "143", "2", "130")
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

