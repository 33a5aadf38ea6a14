"""How far each rank came, what was overtaken by progress, and how a run ended."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from denpex_kb.derive.blocks import mark_values, marks_of
from denpex_kb.derive.clocks import Clocks
from denpex_kb.derive.nouns import Began
from denpex_kb.model.events import Identity, Line, Reading, Seen, identity
from denpex_kb.model.rules import RuleSet

SAID_TO_HANG = "you say that it hangs"
_NONE_STATED, _END = -1.0, float("inf")  # below and above every step
_STALL_SECONDS = 300.0  # silence of a rank, by another line's clock, that is no slow step


class RunState(Struct, frozen=True):
    """How one attempt ended, and what shows it."""

    outcome: Literal["failed", "completed", "stalled", "running", "unknown"]
    why: str
    witness: Line | None = None
    last_progress: dict[int, str] = {}


def overtaken_lines(seen: Sequence[Seen], progress: Sequence[Seen], rules: RuleSet) -> dict[tuple[str, int], bool]:
    """Say of every matched line whether the run made progress after it.

    A warning that is followed by steps is background. Only the printing process's own progress counts, or that of the
    same file where processes cannot be told apart; a run that completed overtakes everything before it. A progress bar
    that is only drawn again, at the step where it stood, is no progress; nor is a single step where none came before.
    """
    steps = _Steps()
    several = _several(seen, rules)
    for item in progress:
        if "progress" in marks_of(item, rules):
            steps.add(item, _step(item, rules))
        elif not several:
            steps.add(item, None)
    ends: dict[str, int] = {}  # file → the line that says that the whole command ended well
    for item in seen:
        if "completion" in marks_of(item, rules):
            steps.add(item, _END)
            if item.line.rank is None and mark_values(item, rules).get("status") == "0":
                ends[item.line.file] = item.line.number
    return {
        (item.line.file, item.line.number): steps.advanced_after(item.line)
        or item.line.number < ends.get(item.line.file, 0)
        for item in seen
    }


def _several(seen: Iterable[Seen], rules: RuleSet) -> bool:
    """Whether several processes wrote the input: then a bar of one says nothing of an error of another."""
    return any(
        item.line.rank is not None or marks_of(item, rules) & {"summary", "teardown", "exit", "collateral"}
        for item in seen
    )


class _Track:
    """The steps of one process in the order of its lines; the highest before and after a line are found at once."""

    def __init__(self) -> None:
        self._points: list[tuple[int, float | None]] = []
        self._ready = False

    def add(self, number: int, step: float | None) -> None:
        self._points.append((number, step))
        self._ready = False

    def advanced_after(self, number: int) -> bool:
        if not self._ready:
            self._prepare()
        first_after = bisect_right(self._numbers, number)
        after = len(self._numbers) - first_after
        if not self._stated_after[first_after]:
            return after > 1
        before = self._highest_before[bisect_left(self._numbers, number)]
        highest = self._highest_after[first_after]
        if before == _NONE_STATED and highest < _END:  # a bar is drawn once more as it closes: one step may be the old
            before = self._lowest_after[first_after]
        return highest > before

    def _prepare(self) -> None:
        self._points.sort(key=lambda point: point[0])
        self._numbers = [number for number, _ in self._points]
        self._highest_before = [_NONE_STATED]
        for _, step in self._points:
            self._highest_before.append(max(self._highest_before[-1], step if step is not None else _NONE_STATED))
        size = len(self._points)
        self._highest_after, self._stated_after = [_NONE_STATED] * (size + 1), [False] * (size + 1)
        self._lowest_after = [_END] * (size + 1)
        for index in range(size - 1, -1, -1):
            step = self._points[index][1]
            self._highest_after[index] = max(self._highest_after[index + 1], step if step is not None else _NONE_STATED)
            self._lowest_after[index] = min(self._lowest_after[index + 1], step if step is not None else _END)
            self._stated_after[index] = self._stated_after[index + 1] or step is not None
        self._ready = True


class _Steps:
    """Where which process stood at which step."""

    def __init__(self) -> None:
        self._by_process: dict[tuple[str, Identity], _Track] = defaultdict(_Track)
        self._by_file: dict[str, _Track] = defaultdict(_Track)

    def add(self, item: Seen, step: float | None) -> None:
        self._by_process[(item.line.file, identity(item.line))].add(item.line.number, step)
        self._by_file[item.line.file].add(item.line.number, step)

    def advanced_after(self, line: Line) -> bool:
        own = self._by_process.get((line.file, identity(line)))
        if own is None:
            own = self._by_file.get(line.file) if line.rank is None else None
        return own is not None and own.advanced_after(line.number)


def _step(item: Seen, rules: RuleSet) -> float | None:
    text = mark_values(item, rules).get("step", "").replace(",", "")
    try:
        return float(text)
    except ValueError:
        return None


def run_state(
    readings: Iterable[Reading],
    seen: Sequence[Seen],
    progress: Sequence[Seen],
    rules: RuleSet,
    began: Began,
    attempt: int,
    clocks: Clocks,
    *,
    hung: bool,
    still: str = "",
) -> RunState:
    """Conclude how an attempt ended.

    Healthy needs positive evidence. `still` says what else shows that the ranks stand.
    A log that just stops is stalled where something shows that time passed (the user
    says so, a stack dump, another rank's later clock), else its end is unknown.
    """
    steps = last_steps(progress, rules)
    bad = [event for event in began.events if event.kind in ("collateral", "summary")]
    if began.event is not None:
        return RunState("failed", "a failure was printed", began.event.seen.line, steps)
    if hung and not bad:
        return RunState("stalled", SAID_TO_HANG, None, steps)
    completed = [item for item in seen if "completion" in marks_of(item, rules)]
    if completed and not began.left_alone and not any(_after(item.seen, completed[-1]) for item in bad):
        return RunState("completed", "the run reports its end", completed[-1].line, steps)
    if bad:
        return RunState("failed", "only events that follow from a failure were printed", bad[0].seen.line, steps)
    if any("stack" in marks_of(item, rules) for item in seen):
        still = "the input holds stacks of processes that were alive and stood still"
    if hung or still:
        return RunState("stalled", SAID_TO_HANG if hung else still, None, steps)
    if began.left_alone:
        return RunState("stalled", began.left_alone, completed[-1].line if completed else None, steps)
    silent = _fell_behind(
        [reading for reading in readings if reading.last is not None and reading.last.attempt == attempt], clocks
    )
    if silent is not None:
        return RunState(
            "stalled", f"{silent.place} is the last line of its rank, while others went on for minutes", silent, steps
        )
    if progress:
        return RunState(
            "running", "the input ends in mid-flight, its last lines are steps of training", progress[-1].line, steps
        )
    return RunState("unknown", "the input ends in mid-flight: it shows neither a failure nor an end", None, steps)


def last_steps(progress: Iterable[Seen], rules: RuleSet) -> dict[int, str]:
    """Return the last step that each rank printed."""
    steps: dict[int, str] = {}
    for item in progress:
        step = mark_values(item, rules).get("step")
        if item.line.rank is not None and step:
            steps[item.line.rank] = step
    return steps


def ended_while_others_work(
    readings: Sequence[Reading], seen: Iterable[Seen], progress: Sequence[Seen], rules: RuleSet
) -> Mapping[int, Seen]:
    """Return the ranks that report their end while others, whose output shows as much, stand in mid-step.

    A rank that never prints steps of its own says nothing by not printing an end.
    """
    ended = {
        item.line.rank: item for item in seen if item.line.rank is not None and "completion" in marks_of(item, rules)
    }
    working = {item.line.rank for item in progress if item.line.rank is not None} - ended.keys()
    if not ended or not working or not ended.keys() & {item.line.rank for item in progress}:
        return {}
    last = {line.rank: line for reading in readings for line in reading.lasts.values() if line.rank is not None}
    if any(_step_start(last[rank].text) for rank in working if rank in last):
        return ended
    return {}


def _step_start(text: str) -> bool:
    """Whether a line announces work that its rank has not reported as done."""
    return text.rstrip(" .").endswith((" start", " started", " starting", " begin"))


def _fell_behind(readings: Sequence[Reading], clocks: Clocks) -> Line | None:
    """Return the last line of the file that stopped minutes before the others."""
    lasts = [
        (time, reading.last)
        for reading in readings
        if _of_a_rank(reading) and reading.last is not None and (time := clocks.of(reading.last)) is not None
    ]
    if len(lasts) < 2:
        return None
    lasts.sort(key=lambda item: item[0])
    return lasts[0][1] if lasts[-1][0] - lasts[0][0] > _STALL_SECONDS else None


def _of_a_rank(reading: Reading) -> bool:
    return reading.origin.rank is not None or (reading.last is not None and reading.last.rank is not None)


def _after(left: Seen, right: Seen) -> bool:
    return left.line.file == right.line.file and left.line.number > right.line.number
