"""The lanes of a course as they are drawn: bounded in number, with words, bars and signs at their places."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import count

from msgspec import Struct, structs

from denpex_kb.model.diagnosis import Course, Lane, Mark, MarkKind
from denpex_kb.render.picture.quotes import Quotes
from denpex_kb.render.picture.scale import Labels, Scale, Tick
from denpex_kb.render.picture.telling import headline, is_code, machines, named, short_place, told

MOST_LANES = 24
_MOST_MARKS = 8  # of one lane that are listed
_MOST_FOLLOWS = 2  # kinds of lines that only follow, listed in one lane; all are told under the picture
_MOST_QUOTED = 90  # characters of a line that are quoted beside its sign
_NARROW_APART = 24.0  # per cent between labels on a telephone
_SIGN = 3.2  # per cent of the width that one sign takes
KINDS: dict[MarkKind, str] = {
    "began": "began it",
    "error": "an error of its own",
    "machine": "the machine or the scheduler",
    "follows": "follows from it",
    "stopped": "stopped",
    "ended": "ended",
    "summary": "the launcher's account",
    "completed": "completed",
    "stands": "where it stood",
    "last": "its last line",
}


class Sign(Struct, frozen=True):
    """A sign in a lane: what happened, and the quote that shows it."""

    x: float
    kind: MarkKind
    quote: int
    label: str


class Note(Struct, frozen=True):
    """A line under a lane: the same in words."""

    kind: MarkKind
    time: str
    text: str
    quoted: str
    many: str
    quote: int
    place: str


class Bar(Struct, frozen=True):
    """A stretch of a lane, in per cent of the width."""

    x: float
    width: float
    kind: str  # work | wait
    label: str


class ShownLane(Struct, frozen=True):
    """One lane."""

    who: str
    how_many: str
    state: str
    headline: str
    bars: tuple[Bar, ...]
    signs: tuple[Sign, ...]
    notes: tuple[Note, ...]
    left_out: int  # notes that are not listed


class Picture(Struct, frozen=True):
    """One attempt, ready to draw."""

    lanes: tuple[ShownLane, ...]
    axis: str  # time | line | none
    day: str = ""
    ticks: tuple[Tick, ...] = ()
    pauses: tuple[Tick, ...] = ()
    began: float | None = None  # where the first failure stands
    kinds: tuple[MarkKind, ...] = ()  # of the signs in use
    bars: tuple[str, ...] = ()
    folded: int = 0  # lanes that were put together, so that the picture stays readable

    @property
    def telling(self) -> bool:
        """Whether it shows more than one thing: that of a single traceback says nothing new."""
        return len(self.lanes) > 1 or any(len(lane.notes) + len(lane.bars) > 1 for lane in self.lanes)


def picture_of(course: Course, quotes: Quotes) -> Picture:
    """Lay out one attempt."""
    lanes, folded = _bounded(course.lanes)
    axis = _axis(lanes)
    scale = Scale(_moments(lanes, axis))
    labels = Labels(course)
    began = _began(lanes, axis)
    shown = tuple(_lane(lane, scale, labels, quotes, axis) for lane in lanes)
    first = [began] if began is not None else []
    ticks = scale.ticks(first, labels) if axis == "time" else _line_ticks(scale, first) if axis == "line" else []
    return Picture(
        shown,
        axis,
        labels.day,
        tuple(_narrowed(ticks, first[0] if first else None, scale)),
        tuple(scale.pauses()) if axis == "time" else (),
        scale.x(first[0]) if first and axis != "none" else None,
        tuple(kind for kind in KINDS if any(note.kind == kind for lane in shown for note in lane.notes)),
        tuple(dict.fromkeys(bar.kind for lane in shown for bar in lane.bars)),
        folded,
    )


def _began(lanes: Iterable[Lane], axis: str) -> float | None:
    """Return when it began: at the first failure, or, where only the ranks' comparison locates one, with the hang."""
    held = list(lanes)
    place = _by_line if axis == "line" else _by_time
    marks = [mark for lane in held for mark in lane.marks if mark.kind == "began"]
    printed = [at for mark in marks if mark.name != "located" and (at := place(mark)) is not None]
    waits = [lane.wait.since for lane in held if lane.wait is not None and lane.wait.since is not None]
    located = [at for mark in marks if (at := place(mark)) is not None]
    if not marks:
        return None
    return min(printed or (waits if axis == "time" else []) or located, default=None)


def _narrowed(ticks: Sequence[Tick], began: float | None, scale: Scale) -> Iterable[Tick]:
    """Mark the labels that have no room on a telephone; the one of the first failure always has."""
    kept = [scale.x(began)] if began is not None else []
    for tick in sorted(ticks, key=lambda tick: (tick.anchor == "middle", tick.x)):
        near = [x for x in kept if 0.05 < abs(x - tick.x) < _NARROW_APART]
        if not near:
            kept.append(tick.x)
        yield structs.replace(tick, narrow=not near)


def _bounded(lanes: Sequence[Lane]) -> tuple[list[Lane], int]:
    """Put lanes together until there are few enough: first by state and call, then by state alone."""
    if len(lanes) <= MOST_LANES:
        return list(lanes), 0
    held = list(lanes)
    for key in (_by_call, _by_state):
        kept = [lane for lane in held if _stands_out(lane)][: MOST_LANES - 8]
        groups: dict[object, list[Lane]] = defaultdict(list)
        for lane in held:
            if lane not in kept:
                groups[key(lane)].append(lane)
        held = [*kept, *(_merged(group) for group in groups.values())]
        if len(held) <= MOST_LANES:
            break
    return held[: MOST_LANES * 2], len(lanes) - len(held)


def _stands_out(lane: Lane) -> bool:
    return any(mark.kind == "began" for mark in lane.marks) or lane.state in ("initiating", "silent")


def _by_call(lane: Lane) -> object:
    call = (lane.wait.group, lane.wait.seq, lane.wait.op) if lane.wait is not None else None
    return lane.state, call, bool(lane.ranks)


def _by_state(lane: Lane) -> object:
    return lane.state, bool(lane.ranks)


def _merged(lanes: Sequence[Lane]) -> Lane:
    """Put lanes together; what only some of them have is kept where it is the same for all."""
    first = lanes[0]
    marks: dict[tuple[str, str], list[Mark]] = defaultdict(list)
    for lane in lanes:
        for mark in lane.marks:
            marks[mark.kind, mark.name].append(mark)
    begins = [lane.begins for lane in lanes if lane.begins is not None]
    works = [lane.works_until for lane in lanes if lane.works_until is not None]
    calls = {(lane.wait.group, lane.wait.seq, lane.wait.op) if lane.wait is not None else None for lane in lanes}
    return Lane(
        tuple(sorted(rank for lane in lanes for rank in lane.ranks)),
        first.state,
        tuple(sorted({host for lane in lanes for host in lane.hosts})),
        tuple(sorted(map(_merged_mark, marks.values()), key=lambda mark: (mark.at is None, mark.at or 0.0))),
        first.wait if len(calls) == 1 else None,
        first.step if len({lane.step for lane in lanes}) == 1 else "",
        min(begins, default=None),
        max(works, default=None),
    )


def _merged_mark(marks: Sequence[Mark]) -> Mark:
    first = min(marks, key=lambda mark: (mark.at is None, mark.at or 0.0))
    return structs.replace(
        first,
        count=sum(mark.count for mark in marks),
        ranks=sum(mark.ranks for mark in marks),
        until=max((mark.until for mark in marks if mark.until is not None), default=None),
    )


def _axis(lanes: Iterable[Lane]) -> str:
    marks = [mark for lane in lanes for mark in lane.marks]
    if len({mark.at for mark in marks if mark.at is not None}) > 1 or any(
        lane.works_until is not None and lane.works_until != lane.begins for lane in lanes
    ):
        return "time"
    if len({mark.first.file for mark in marks}) == 1 and len({mark.first.line for mark in marks}) > 1:
        return "line"
    return "none"


def _moments(lanes: Iterable[Lane], axis: str) -> Iterable[float]:
    if axis == "none":
        return
    for lane in lanes:
        if axis == "line":
            yield from (float(mark.first.line) for mark in lane.marks)
            continue
        times = [lane.begins, lane.works_until, lane.wait.since if lane.wait is not None else None]
        yield from (time for time in times if time is not None)
        for mark in lane.marks:
            yield from (time for time in (mark.at, mark.until) if time is not None)


def _by_time(mark: Mark) -> float | None:
    return mark.at


def _by_line(mark: Mark) -> float | None:
    return float(mark.first.line)


def _line_ticks(scale: Scale, first: Iterable[float]) -> list[Tick]:
    class _Lines(Labels):
        def __init__(self) -> None:
            """Lines have no start."""

        def of(self, moment: float) -> str:
            return f"line {moment:.0f}"

    return scale.ticks(first, _Lines())


def _lane(lane: Lane, scale: Scale, labels: Labels, quotes: Quotes, axis: str) -> ShownLane:
    marks = _listed(lane.marks)
    notes = [_note(mark, lane, labels, quotes) for mark in marks]
    signs = _signs(marks, notes, scale, axis) if axis != "none" else []
    ranks = len(lane.ranks)
    who, more = named(lane.ranks) if ranks else (machines(lane.hosts), "")
    follows = sum(mark.kind == "follows" for mark in lane.marks)
    return ShownLane(
        who,
        more,
        "began" if any(mark.kind == "began" for mark in lane.marks) else lane.state if ranks else "machine",
        headline(lane),
        tuple(_bars(lane, scale, labels)) if axis == "time" else (),
        tuple(signs),
        tuple(notes[:_MOST_MARKS]),
        max(0, len(notes) - _MOST_MARKS) + max(0, follows - _MOST_FOLLOWS),
    )


def _listed(marks: Sequence[Mark]) -> list[Mark]:
    """Leave out what another mark of the lane says as well: launchers tell one end in several lines."""
    coded = any(mark.kind == "ended" and is_code(mark) for mark in marks)
    kept: list[Mark] = []
    for mark in marks:
        if mark.kind == "ended" and coded and not is_code(mark):
            continue
        same = [other for other in marks if other.kind == mark.kind and mark.kind in ("stopped", "summary")]
        if same and max(same, key=lambda other: (other.ranks, other.count)) is not mark:
            continue
        if mark.kind == "follows" and sum(other.kind == "follows" for other in kept) >= _MOST_FOLLOWS:
            continue
        kept.append(mark)
    return kept


def _note(mark: Mark, lane: Lane, labels: Labels, quotes: Quotes) -> Note:
    time = ""
    if mark.at is not None:
        time = labels.of(mark.at)
        last = labels.of(mark.until) if mark.until is not None else time
        time = time if last == time else f"{time} to {last}"
    text = told(mark)
    many = ""
    if lane.ranks[1:] and mark.ranks and mark.ranks != len(lane.ranks):
        many = f"{mark.ranks:,} of {len(lane.ranks):,} ranks"
    elif not lane.ranks and mark.count > 1:
        many = f"{mark.count:,} lines"
    number = quotes.add(mark.first, text)
    quoted = mark.first.text.strip() if mark.kind in ("began", "error", "machine") else ""
    if len(quoted) > _MOST_QUOTED:
        quoted = quoted[:_MOST_QUOTED].rstrip() + "…"
    return Note(mark.kind, time, text, quoted, many, number, short_place(mark.first.file, mark.first.line))


def _bars(lane: Lane, scale: Scale, labels: Labels) -> Iterable[Bar]:
    wait = lane.wait
    since = wait.since if wait is not None else None
    if lane.begins is not None and lane.works_until is not None and lane.works_until > lane.begins:
        until = min(lane.works_until, since) if since is not None and since > lane.begins else lane.works_until
        yield _bar(lane.begins, until, "work", "steps were printed", scale, labels)
    if wait is not None and since is not None:
        ends = [mark.at for mark in lane.marks if mark.at is not None and mark.at > since and mark.kind != "last"]
        if ends:
            yield _bar(since, min(ends), "wait", f"waited in {wait.op}", scale, labels)


def _bar(start: float, end: float, kind: str, text: str, scale: Scale, labels: Labels) -> Bar:
    left = scale.x(start)
    width = max(scale.x(end) - left, 0.4)
    return Bar(round(left, 2), round(width, 2), kind, f"{text}, {labels.of(start)} to {labels.of(end)}")


def _signs(marks: Sequence[Mark], notes: Sequence[Note], scale: Scale, axis: str) -> list[Sign]:
    """Place one sign for each kind of mark at its place; signs that would lie on each other are moved to the side."""
    place = _by_line if axis == "line" else _by_time
    shown: dict[tuple[str, int], tuple[float, Mark, Note]] = {}
    numbers = count()
    for mark, note in zip(marks, notes, strict=True):
        moment = place(mark)
        if moment is None:
            continue
        x = scale.x(moment)
        near = any(kind == mark.kind and abs(held[0] - x) < 2 * _SIGN for (kind, _), held in shown.items())
        if not near:
            shown[mark.kind, next(numbers)] = (x, mark, note)
    signs: list[Sign] = []
    last = -_SIGN
    for x, mark, note in sorted(shown.values(), key=lambda item: item[0]):
        last = max(x, last + _SIGN)
        time = f"{note.time}: " if note.time else ""
        signs.append(Sign(round(last, 2), mark.kind, note.quote, f"{time}{note.text}, {note.place}"))
    return _inside(signs)


def _inside(signs: list[Sign]) -> list[Sign]:
    """Move signs back from the right edge, the last one first."""
    limit = 98.5
    moved: list[Sign] = []
    for sign in reversed(signs):
        x = min(sign.x, limit)
        moved.append(structs.replace(sign, x=round(x, 2)))
        limit = x - _SIGN
    return moved[::-1]
