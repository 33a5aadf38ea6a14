"""Where the ranks stand: groups of equal stacks, who stands apart, and what that says of who began it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, structs

from denpex_kb.derive.collectives import Relation
from denpex_kb.model.events import Line, Reading, Seen
from denpex_kb.model.rules import RuleSet
from denpex_kb.model.stacks import Frame, Process

_KINDS = ("frame-plumbing", "frame-wait", "frame-aside", "frame-helper")
_WEAK = frozenset({"frame-barrier"})  # whoever waits in a barrier is apart only from those who are in the model
_NAMED = 12  # runs of ranks that a sentence lists

_Key = tuple[str, str, int | None] | None


class Stood(Struct, frozen=True):
    """Where one rank stood when its stack was taken."""

    rank: int
    text: str
    seen: Seen


class StackFindings(Struct, frozen=True):
    """What the dumps show together."""

    relations: tuple[Relation, ...] = ()
    stood: tuple[Stood, ...] = ()
    at_work: str = ""  # what all ranks do, where that is work and no waiting
    seen: str = ""  # where the ranks stand, if there are too few stacks to compare


class _Role(Struct, frozen=True):
    kind: str
    id: str
    note: str


class FrameRoles:
    """What a frame says of where a process stands, by the marks of `kb/marks/stacks.yaml`."""

    def __init__(self, rules: RuleSet, notes: Mapping[str, str]) -> None:
        """Compile the marks.

        Args:
            rules: the compiled catalog.
            notes: mark id → what a process in such a frame does.
        """
        self._patterns = [
            (
                re.compile(pattern.pattern),
                re.compile(pattern.unless) if pattern.unless else None,
                _Role(pattern.name, pattern.owner, notes.get(pattern.owner, "")),
            )
            for pattern in rules.patterns
            if pattern.target == "mark" and pattern.name in _KINDS
        ]
        self._known: dict[str, dict[str, _Role]] = {}

    def of(self, frame: Frame) -> dict[str, _Role]:
        """Return the frame's roles by kind; the first mark of a kind counts."""
        text = f"    {frame.text}"
        if text not in self._known:
            roles: dict[str, _Role] = {}
            for pattern, unless, role in self._patterns:
                if role.kind not in roles and pattern.search(text) and not (unless and unless.search(text)):
                    roles[role.kind] = role
            self._known[text] = roles
        return self._known[text]


class _Coverage(Struct, frozen=True):
    """How many ranks' stacks there are, of how many."""

    seen: int
    world_size: int | None

    @property
    def partial(self) -> bool:
        return self.world_size is not None and self.seen < self.world_size

    @property
    def text(self) -> str:
        return f"stacks of {self.seen} of {self.world_size} ranks" if self.partial else ""

    @property
    def suffix(self) -> str:
        return f" ({self.text})" if self.partial else ""


class _Stand(Struct, frozen=True):
    """A rank's telling frames and all of its frames, the outermost first."""

    process: Process
    path: tuple[Frame, ...]
    whole: tuple[Frame, ...]


class _Group(Struct, frozen=True):
    """The ranks that took the same way where the ways part."""

    members: tuple[_Stand, ...]
    aside: _Role | None
    waits: bool
    shown: Frame | None
    called: Frame | None = None  # what called the frame that is shown

    @property
    def ranks(self) -> tuple[int, ...]:
        return tuple(sorted(stand.process.rank for stand in self.members if stand.process.rank is not None))


def give_ranks(processes: Iterable[Process], readings: Iterable[Reading]) -> None:
    """Give the processes the ranks that were concluded for their lines or their pids."""
    by_pid: dict[int, int] = {}
    by_place: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for reading in readings:
        for seen in reading.seen:
            line = seen.line
            if line.rank is not None:
                by_place[line.file].append((line.number, line.rank))
                if line.pid is not None:
                    by_pid.setdefault(line.pid, line.rank)
    for process in processes:
        if process.rank is None and process.pid is not None:
            process.rank = by_pid.get(process.pid)
        if process.rank is None:
            inside = {rank for number, rank in by_place[process.file] if process.first <= number <= process.last}
            process.rank = inside.pop() if len(inside) == 1 else None


def find_stack_relations(processes: Iterable[Process], roles: FrameRoles, world_size: int | None) -> StackFindings:
    """Compare where the ranks stand.

    Workers of data loaders and launchers are no ranks. Stacks part where the first frame from outside differs; what
    lies deeper is what a rank does on its way, and ranks that run ahead of a device may stop anywhere there.
    """
    stands = _stands(processes, roles)
    if not stands:
        return StackFindings()
    coverage = _Coverage(len(stands), world_size)
    depth, parted = _part([stand.path for stand in stands])
    at_work = "" if coverage.partial or len(stands) < 2 else _at_work(stands, roles)
    if parted is None:
        shown = _deepest(stands[0], 0, roles)
        if coverage.partial or len(stands) < 2:
            seen = _sentence(_Group(tuple(stands), None, waits=True, shown=shown)) + coverage.suffix
            return StackFindings((), _stood(stands, shown, None), seen=seen)
        text = f"all {len(stands)} stand in {shown.brief if shown else 'the same place'}"
        same = _relation("same-stack-everywhere", text, (), stands, coverage)
        return StackFindings((same,), _stood(stands, shown, None), at_work)
    groups = [_group([stands[index] for index in members], depth, parted, roles) for members in parted.values()]
    odd = _odd(groups, len(stands))
    groups.sort(key=lambda group: (group not in odd, len(group.members), group.ranks))
    ranks = tuple(sorted({rank for group in odd for rank in group.ranks}))
    text = "; ".join(_sentence(group, groups) for group in groups[:5])
    relation = _relation("odd-stack", text, ranks, [group.members[0] for group in groups], coverage)
    stood = tuple(item for group in groups for item in _stood(group.members, group.shown, group.aside))
    return StackFindings((relation, *_without_rank0(groups, coverage)), stood, at_work)


def _stood(stands: Sequence[_Stand], shown: Frame | None, aside: _Role | None) -> tuple[Stood, ...]:
    doing = f": {aside.note}" if aside is not None and aside.note else ""
    text = f"in {shown.brief}{doing}" if shown is not None else "in another place"
    return tuple(Stood(rank, text, _seen(stand)) for stand in stands if (rank := stand.process.rank) is not None)


def _stands(processes: Iterable[Process], roles: FrameRoles) -> list[_Stand]:
    chosen: dict[object, _Stand] = {}
    for process in processes:
        main = process.main
        if main is None or process.fatal or any("frame-helper" in roles.of(frame) for frame in main.frames):
            continue
        whole = tuple(reversed(main.frames))
        # a backtrace of gdb may be nothing but native frames
        path = tuple(frame for frame in whole if "frame-plumbing" not in roles.of(frame)) or whole
        if path:
            key: object = ("rank", process.rank)
            if process.rank is None:
                key = process.pid if process.pid is not None else (process.file, process.first)
            chosen.setdefault(key, _Stand(process, path, whole))
    ranked = [stand for stand in chosen.values() if stand.process.rank is not None]
    # where ranks are known, what has none is a helper: a worker, a server, a launcher
    return ranked if len(ranked) > 1 else list(chosen.values())


def _key(path: Sequence[Frame], depth: int) -> _Key:
    return (path[depth].function, path[depth].file, path[depth].line) if depth < len(path) else None


def _part(paths: Sequence[Sequence[Frame]]) -> tuple[int, dict[_Key, list[int]] | None]:
    """Return the depth at which the stacks part, and who goes where; None where they are the same."""
    for depth in range(max(map(len, paths))):
        groups: dict[_Key, list[int]] = defaultdict(list)
        for index, path in enumerate(paths):
            groups[_key(path, depth)].append(index)
        if len(groups) > 1:
            return depth, dict(groups)
    return 0, None


def _group(members: Sequence[_Stand], depth: int, parted: Mapping[_Key, object], roles: FrameRoles) -> _Group:
    """Describe a group by the frames that it does not share with the others."""
    same_function = len({key[:2] if key is not None else None for key in parted}) == 1
    start = depth + 1 if same_function else depth
    first = members[0]
    asides = [role for frame in first.path[start:] if (role := roles.of(frame).get("frame-aside")) is not None]
    aside = next((role for role in asides if role.id not in _WEAK), asides[0] if asides else None)
    waits = all(_waits(stand, depth, roles) for stand in members)
    shown = _shown(first, start, aside, roles)
    outside = first.path.index(shown) - 1 if shown in first.path else -1
    called = first.path[outside] if outside >= depth else None
    return _Group(tuple(members), aside, waits, shown, called)


def _waits(stand: _Stand, depth: int, roles: FrameRoles) -> bool:
    """Say whether a rank waits for others or its device, from where the ways part; call machinery may show it."""
    begin = stand.whole.index(stand.path[depth]) if depth < len(stand.path) else len(stand.whole)
    return any("frame-wait" in roles.of(frame) for frame in stand.whole[begin:])


def _shown(stand: _Stand, start: int, aside: _Role | None, roles: FrameRoles) -> Frame | None:
    """Choose the frame that says most: what the rank does aside, else what it waits in, else where it is."""
    if aside is not None:
        return next(frame for frame in stand.path[start:] if roles.of(frame).get("frame-aside") == aside)
    return _deepest(stand, start, roles)


def _deepest(stand: _Stand, start: int, roles: FrameRoles) -> Frame | None:
    own = stand.path[start:] or stand.path[-1:]
    waiting = [frame for frame in own if "frame-wait" in roles.of(frame)]
    return waiting[-1] if waiting else (own[-1] if own else None)


def _odd(groups: Sequence[_Group], total: int) -> list[_Group]:
    """Name the groups that stand apart; none where the ways part evenly and neither side has left the path."""
    largest = max(len(group.members) for group in groups)
    if largest * 2 > total:
        minority = [group for group in groups if len(group.members) < largest]
        busy = [group for group in minority if _strong(group)] or [group for group in minority if not group.waits]
        return busy or minority
    for left in (
        [group for group in groups if _strong(group)],
        [group for group in groups if group.aside is not None],
        [group for group in groups if not group.waits],
    ):
        if left and len(left) < len(groups):
            return left
    return []


def _without_rank0(groups: Sequence[_Group], coverage: _Coverage) -> Iterable[Relation]:
    """Find ranks in a barrier that rank 0 has not reached."""
    inside = [group for group in groups if group.aside is not None and group.aside.id in _WEAK]
    outside = [group for group in groups if group not in inside and 0 in group.ranks]
    if inside and outside and not any(0 in group.ranks for group in inside):
        text = f"{_sentence(inside[0])}; {_sentence(outside[0])}"
        yield structs.replace(
            _relation("others-in-a-barrier", text, inside[0].ranks, [inside[0].members[0]], coverage), culprit=False
        )


def _strong(group: _Group) -> bool:
    return group.aside is not None and group.aside.id not in _WEAK


def _at_work(stands: Sequence[_Stand], roles: FrameRoles) -> str:
    """Say what all ranks do where that is a save and none of them waits for another."""
    for stand in stands:
        saving = [index for index, frame in enumerate(stand.whole) if _saves(frame, roles)]
        if not saving or any("frame-wait" in roles.of(frame) for frame in stand.whole[saving[0] :]):
            return ""
    return "every rank is writing a checkpoint"


def _saves(frame: Frame, roles: FrameRoles) -> bool:
    role = roles.of(frame).get("frame-aside")
    return role is not None and role.id == "frame-saving"


def _sentence(group: _Group, groups: Sequence[_Group] = ()) -> str:
    where = group.shown.brief if group.shown is not None else "another place"
    alike = [other for other in groups if other.shown is not None and other.shown == group.shown]
    if len(alike) > 1 and group.called is not None and group.called != group.shown:
        where += f", reached through {group.called.brief}"
    names = rank_list(group.ranks) if group.ranks else _unranked(group)
    doing = f" ({group.aside.note})" if group.aside is not None and group.aside.note else ""
    return f"{names} in {where}{doing}"


def _unranked(group: _Group) -> str:
    labels = [stand.process.label for stand in group.members]
    return ", ".join(labels[:3]) + (f" and {len(labels) - 3} more" if len(labels) > 3 else "")


def rank_list(ranks: Iterable[int]) -> str:
    """Write ranks as people do: `rank 3`, `ranks 0-3, 7`."""
    distinct = sorted(set(ranks))
    runs: list[list[int]] = []
    for rank in distinct:
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    parts = [f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs]
    shown = ", ".join(parts[:_NAMED]) + (" …" if len(parts) > _NAMED else "")
    return f"rank{'s' * (len(distinct) != 1)} {shown}"


def _relation(
    name: str, text: str, ranks: tuple[int, ...], witnesses: Iterable[_Stand], coverage: _Coverage
) -> Relation:
    lines = tuple(_seen(stand) for stand in list(witnesses)[:4])
    partial = "partial" if coverage.partial else ""
    return Relation(name, text, ranks, lines, basis=coverage.text, coverage=partial, culprit=bool(ranks))


def _seen(stand: _Stand) -> Seen:
    frame, process = stand.path[-1], stand.process
    return Seen(Line(process.file, frame.number, frame.text, rank=process.rank, pid=process.pid), ())
