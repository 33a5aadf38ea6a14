"""What happened by ranks and over time: everything that is known of a rank in its lane, equal lanes told once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite

from msgspec import Struct, field, structs

from denpex_kb.derive.alike import core_text
from denpex_kb.derive.blocks import marks_of
from denpex_kb.derive.clocks import Clocks
from denpex_kb.derive.ended import TOLD_TO_STOP
from denpex_kb.derive.events import Event
from denpex_kb.derive.located import Located
from denpex_kb.derive.nouns import Began, Scene
from denpex_kb.derive.states import place_of_line
from denpex_kb.model.diagnosis import Course, EventPlace, Initiating, Lane, Mark, MarkKind, RankState, Wait
from denpex_kb.model.events import Line, Seen
from denpex_kb.model.rules import RuleSet

_KINDS: dict[str, MarkKind] = {
    "collateral": "follows",
    "teardown": "stopped",
    "exit": "ended",
    "summary": "summary",
    "exception": "error",
    "crash": "error",
    "mismatch": "error",
    "hardware": "machine",
    "kernel": "machine",
    "scheduler": "machine",
}
_OWN = frozenset({"error", "machine", "began"})  # what tells one lane from another by its text
_ORDER = {"initiating": 0, "silent": 1, "collateral": 2, "torn-down": 3, "unknown": 4, "completed": 5}
_APART = 20.0  # seconds between ranks that met the same, from which on they are told apart
_APART_SHARE = 0.05  # of the whole course, likewise
_MOST_PARTS = 4
_LATER = frozenset({"ended", "stopped", "summary", "follows"})
_Key = int | str | None  # a rank, a host, or nothing that is known


class _Track(Struct):
    """One rank, or one machine, while it is gathered."""

    key: _Key
    state: RankState | None = None
    marks: list[Mark] = field(default_factory=list)
    wait: Wait | None = None
    begins: float | None = None
    works_until: float | None = None

    def first(self) -> float | None:
        return min((mark.at for mark in self.marks if mark.at is not None and mark.kind != "last"), default=None)


class Sources(Struct, frozen=True):
    """What a course is told from.

    Args:
        scene: the attempt.
        began: who began its incidents, the one that broke the job in front.
        states: what became of the ranks.
        seen: the matched lines of the attempt.
        progress: its lines of progress.
        lasts: the last line of every rank.
        located: what its dumps show.
        rules: the compiled catalog.
    """

    scene: Scene
    began: Sequence[Began]
    states: Sequence[RankState]
    seen: Sequence[Seen]
    progress: Sequence[Seen]
    lasts: Mapping[int, Line]
    located: Located | None
    rules: RuleSet


def course_of(sources: Sources) -> Course:
    """Tell the course of one attempt."""
    tracks = _Tracks(sources)
    tracks.gather()
    held = [track for track in tracks.held.values() if track.marks or track.state is not None or track.begins]
    _not_before(held, tracks.first_began())
    times = [time for track in held for time in _times(track)]
    start = min(times, default=None)
    seconds = max(times) - start if start is not None else None
    lanes = [_lane(part, start) for group in _alike(held) for part in _parted(group, seconds or 0.0)]
    lanes.sort(key=_place)
    return Course(tuple(lanes), Clocks.written(start) if start is not None else None, _rounded(seconds))


class _Tracks:
    """Gathers what is known of every rank and machine."""

    def __init__(self, sources: Sources) -> None:
        self._from = sources
        self.held: dict[_Key, _Track] = {state.rank: _Track(state.rank, state) for state in sources.states}
        self._placed: set[tuple[_Key, str, int]] = set()
        self._alike: dict[tuple[str, int], tuple[int, ...]] = {}
        for began in sources.began:
            for event in began.alike:
                self._alike[event.line.file, event.line.number] = event.ranks
            first = began.initiating
            if first is not None and first.file is not None:
                own = (first.rank,) if first.rank is not None else first.ranks
                key = (first.file, first.line or 0)
                self._alike[key] = own if not began.everyone else self._alike.get(key, ())

    def gather(self) -> None:
        self._work()
        for event in self._from.scene.events:
            self._event(event)
        self._unprinted()
        self._exits()
        for item in self._from.seen:
            if "completion" in marks_of(item, self._from.rules):
                self._put(item.line.rank, self._mark("completed", "run-complete", item.line))
        self._waits()
        self._dumps()
        self._ends()

    def first_began(self) -> float | None:
        """Return when the first failure was."""
        marks = [mark for track in self.held.values() for mark in track.marks if mark.kind == "began"]
        return min((mark.at for mark in marks if mark.at is not None), default=None)

    def _event(self, event: Event) -> None:
        place = (event.line.file, event.line.number)
        began = place in self._alike
        if not began and self._from.scene.overtaken.get(place, False):
            return  # background: the run went on
        kind = "began" if began else _KINDS.get(event.kind)
        if kind is None:
            return
        if kind == "ended" and event.values.get("exitcode", "").lstrip("-") in {"15", "143", "2", "130"}:
            kind = "stopped"
        mark = self._mark(kind, event.name, event.line, event)
        own = (event.line.rank,) if event.line.rank is not None else ()
        ranks = self._alike.get(place, ()) or (() if kind == "summary" else event.ranks or own)
        for rank in ranks:
            self._put(rank, mark)
        if not ranks:
            self._put(event.host, mark)

    def _unprinted(self) -> None:
        """What began by a relation between ranks is shown by the line that the relation names."""
        for began in self._from.began:
            first = began.initiating
            if first is None or first.file is None or began.everyone:
                continue
            ranks = (first.rank,) if first.rank is not None else first.ranks
            line = _line_of(began, first)
            time = self._time(line)
            place = EventPlace(first.file, first.line or 0, first.rank, first.text[:300])
            for key in ranks or ((first.host,) if not began.alike else ()):
                self._put(key, Mark("began", "located", place, at=time, until=time))

    def _exits(self) -> None:
        for rank, end in self._from.scene.exits:
            line = end.seen.line
            name = f"signal-{-end.code}" if end.code < 0 else f"exit-code-{end.code}"
            kind: MarkKind = "stopped" if end.code in TOLD_TO_STOP else "ended" if end.code else "completed"
            self._put(rank, self._mark(kind, name, line))

    def _work(self) -> None:
        scene = self._from.scene
        for item in (*self._from.seen, *self._from.progress):
            time = scene.clocks.of(item.line)
            if time is not None and item.line.rank is not None:
                track = self._track(item.line.rank)
                track.begins = time if track.begins is None else min(track.begins, time)
        for item in self._from.progress:
            time = scene.clocks.of(item.line)
            if time is None:
                continue
            track = self._track(item.line.rank)
            track.begins = time if track.begins is None else min(track.begins, time)
            track.works_until = time if track.works_until is None else max(track.works_until, time)

    def _waits(self) -> None:
        for hang in self._from.scene.hangs:
            for report in hang.reports:
                track = self.held.get(report.rank)
                if track is not None and track.wait is None:
                    track.wait = Wait(
                        report.op,
                        report.seq if hang.group != "fingerprint" else None,
                        hang.group if hang.group != "fingerprint" else "",
                        report.size,
                        report.enqueued,
                        report.completed,
                        report.hung,
                    )

    def _dumps(self) -> None:
        located = self._from.located
        if located is None:
            return
        for stood in located.stood:
            self._put(stood.rank, Mark("stands", "stack", place_of_line(stood.seen.line), note=stood.text))
        for rank, standing in located.standings.items():
            place = place_of_line(standing.seen.line)
            at = f"waits in {standing.op}" if standing.seq is not None else f"completed {standing.op}"
            self._put(rank, Mark("stands", "trace", place, note=f"{at}, {standing.group}"))
            track = self.held.get(rank)
            if track is not None and track.wait is None:
                op = standing.op if standing.seq is not None else ""
                track.wait = Wait(
                    op, standing.seq, standing.group, standing.size, standing.enqueued, standing.completed
                )

    def _ends(self) -> None:
        """The last line of a rank shows where it stopped, if nothing that it printed says more."""
        for rank, line in self._from.lasts.items():
            track = self.held.get(rank)
            if track is None or any(mark.first.rank == rank and mark.kind != "began" for mark in track.marks):
                continue
            if not any((mark.first.file, mark.first.line) == (line.file, line.number) for mark in track.marks):
                self._put(rank, self._mark("last", "last-line", line))

    def _track(self, key: _Key) -> _Track:
        return self.held.setdefault(key, _Track(key))

    def _put(self, key: _Key, mark: Mark) -> None:
        place = (key, mark.first.file, mark.first.line)
        if place not in self._placed or mark.kind == "stands":  # else a line tells one thing in one lane
            self._placed.add(place)
            self._track(key).marks.append(mark)

    def _mark(self, kind: MarkKind, name: str, line: Line, event: Event | None = None) -> Mark:
        time = self._time(line, event)
        stated = self._from.scene.clocks.of(line) is not None
        note = self._from.scene.reasons.get(name, "")
        return Mark(kind, name, place_of_line(line), at=time, until=time, exact=stated, note=note)

    def _time(self, line: Line, event: Event | None = None) -> float | None:
        clocks = self._from.scene.clocks
        span = event.span if event is not None else clocks.span(line)
        if span is None:
            return None
        time = next((time for time in (span.best, span.low, span.high) if isfinite(time)), None)
        if time is not None and event is not None and event.kind == "collateral" and "bus" in event.values:
            return time - clocks.zone  # a record of the machine, with the clock of its collector
        return time


def _line_of(began: Began, first: Initiating) -> Line:
    """Return the line that shows a relation, with its time where the relation has it."""
    shown = began.relation.lines if began.relation is not None else ()
    for item in shown:
        if (item.line.file, item.line.number) == (first.file, first.line):
            return item.line
    return Line(first.file or "", first.line or 0, first.text, rank=first.rank)


def _not_before(tracks: Iterable[_Track], began: float | None) -> None:
    """A launcher that writes whole seconds seems to tell the end before what began it: move that to it."""
    for track in tracks:
        for number, mark in enumerate(track.marks):
            if began is None or mark.at is None or mark.kind not in _LATER:
                continue
            if 0.0 < began - mark.at < 1.0 and mark.at == int(mark.at):
                track.marks[number] = structs.replace(mark, at=began, until=began, exact=False)


def _times(track: _Track) -> Iterable[float]:
    wait = track.wait.since if track.wait is not None else None
    times = [track.begins, track.works_until, wait, *(mark.at for mark in track.marks)]
    return [time for time in times if time is not None]


def _alike(tracks: Iterable[_Track]) -> Iterable[list[_Track]]:
    """Put tracks together that tell the same; when it was is looked at afterwards."""
    held = list(tracks)
    ranked = [track for track in held if track.state is not None]
    stepping = sum(bool(track.state and track.state.progress) for track in ranked) * 2 > len(ranked)
    groups: dict[object, list[_Track]] = defaultdict(list)
    for track in held:
        own = sorted(
            {(mark.kind, mark.name, core_text(mark.first.text)) for mark in track.marks if mark.kind in _OWN}
            | {("stands", mark.note, "") for mark in track.marks if mark.kind == "stands"}
        )
        if track.state is None:
            key: object = (track.key is None, tuple(own), frozenset(mark.kind for mark in track.marks))
        else:
            wait = track.wait
            call = (wait.group, wait.seq, wait.op, wait.size) if wait is not None else None
            step = track.state.progress or "" if stepping else ""  # few ranks print steps: that tells nothing
            key = (track.state.state, step, call, tuple(own))
        groups[key].append(track)
    return groups.values()


def _parted(tracks: list[_Track], seconds: float) -> Iterable[list[_Track]]:
    """Part what the same befell at clearly different times; unless it was at many."""
    timed = sorted(((time, track) for track in tracks if (time := track.first()) is not None), key=lambda item: item[0])
    untimed = [track for track in tracks if track.first() is None]
    if not timed or tracks[0].state is None:
        return [tracks]
    gap = max(_APART, _APART_SHARE * seconds)
    parts = [[timed[0]]]
    for item in timed[1:]:
        if item[0] - parts[-1][-1][0] > gap:
            parts.append([])
        parts[-1].append(item)
    if len(parts) > _MOST_PARTS:
        return [tracks]
    told = [[track for _, track in part] for part in parts]
    return [*told, untimed] if untimed else told


def _lane(tracks: Sequence[_Track], start: float | None) -> Lane:
    """Fold tracks into one lane, with times from the start of the course."""
    first = tracks[0]
    ranks = tuple(sorted(track.key for track in tracks if isinstance(track.key, int)))
    hosts = tuple(sorted(track.key for track in tracks if isinstance(track.key, str)))
    waits = [track.wait for track in tracks if track.wait is not None]
    since = min((wait.since for wait in waits if wait.since is not None), default=None)
    begins = min((track.begins for track in tracks if track.begins is not None), default=None)
    until = max((track.works_until for track in tracks if track.works_until is not None), default=None)
    return Lane(
        ranks,
        first.state.state if first.state is not None else "unknown",
        hosts,
        tuple(_marks(tracks, start)),
        _wait(waits, _from(since, start)) if waits else None,
        _steps(
            [track.state.progress for track in tracks if track.state is not None and track.state.progress], len(tracks)
        ),
        _from(begins, start),
        _from(until, start),
    )


def _wait(waits: Sequence[Wait], since: float | None) -> Wait:
    """Fold waits in one collective; counts that differ are left out."""
    enqueued, completed = {wait.enqueued for wait in waits}, {wait.completed for wait in waits}
    return structs.replace(
        waits[0],
        since=since,
        enqueued=waits[0].enqueued if len(enqueued) == 1 else None,
        completed=waits[0].completed if len(completed) == 1 else None,
    )


def _steps(printed: Sequence[str], tracks: int) -> str:
    """Return the last step of a lane, if it is told of most of it."""
    steps = set(printed)
    if len(printed) * 2 < tracks or not steps:
        return ""
    if len(steps) == 1:
        return printed[0]
    try:
        numbers = sorted(steps, key=lambda step: float(step.replace(",", "")))
    except ValueError:
        return ""
    return f"{numbers[0]} to {numbers[-1]}"


def _marks(tracks: Sequence[_Track], start: float | None) -> Iterable[Mark]:
    """Fold the marks of several tracks by what they are, in the order of time."""
    groups: dict[tuple[str, str], list[tuple[_Key, Mark]]] = defaultdict(list)
    for track in tracks:
        for mark in track.marks:
            told = {"stands": mark.note, "summary": ""}.get(mark.kind, mark.name)
            groups[mark.kind, told].append((track.key, mark))
    folded: list[Mark] = []
    for held in groups.values():
        mark = min((mark for _, mark in held), key=lambda mark: (mark.at is None, mark.at or 0.0, mark.first.line))
        times = [other.at for _, other in held if other.at is not None]
        folded.append(
            structs.replace(
                mark,
                count=len(held),
                ranks=len({key for key, _ in held if isinstance(key, int)}),
                at=_from(mark.at, start),
                until=_from(max(times, default=None), start),
            )
        )
    return sorted(folded, key=lambda mark: (mark.at is None, mark.at or 0.0, mark.first.file, mark.first.line))


def _place(lane: Lane) -> tuple[bool, float, float, int]:
    """Lanes that began it stand in front, launchers at the end."""
    first = min((mark.at for mark in lane.marks if mark.at is not None), default=float("inf"))
    began = any(mark.kind == "began" for mark in lane.marks)
    explains = any(mark.kind in ("machine", "error", "completed") for mark in lane.marks)
    state = -1.0 if began else _ORDER[lane.state] if lane.ranks else 0.5
    return (not lane.ranks and not began and not explains, state, first, lane.ranks[0] if lane.ranks else 0)


def _from(time: float | None, start: float | None) -> float | None:
    return _rounded(time - start) if time is not None and start is not None else None


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)
