"""How far each rank came, what was overtaken by progress, and how a run ended."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct

from denpex_kb.derive.began import Began
from denpex_kb.derive.blocks import Identity, identity
from denpex_kb.derive.ranks import Ranks
from denpex_kb.model.events import Line, Reading, Seen
from denpex_kb.model.rules import RuleSet

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
    that is only drawn again, at the step where it stood, is no progress.
    """
    steps = _Steps()
    for item in progress:
        steps.add(item, _step(item, rules))
    for item in seen:
        if _is(item, rules, "completion"):
            steps.add(item, float("inf"))
    return {(item.line.file, item.line.number): steps.advanced_after(item.line) for item in seen}


class _Steps:
    """Where which process stood at which step."""

    def __init__(self) -> None:
        self._by_process: dict[tuple[str, Identity], list[tuple[int, float | None]]] = defaultdict(list)
        self._by_file: dict[str, list[tuple[int, float | None]]] = defaultdict(list)

    def add(self, item: Seen, step: float | None) -> None:
        self._by_process[(item.line.file, identity(item.line))].append((item.line.number, step))
        self._by_file[item.line.file].append((item.line.number, step))

    def advanced_after(self, line: Line) -> bool:
        own = self._by_process.get((line.file, identity(line)))
        if own is None:
            own = self._by_file.get(line.file, []) if line.rank is None else []
        before = [step for number, step in own if number < line.number and step is not None]
        after = [step for number, step in own if number > line.number]
        stated = [step for step in after if step is not None]
        if stated:
            return max(stated) > max(before, default=-1.0)
        return len(after) > 1


def _step(item: Seen, rules: RuleSet) -> float | None:
    for match in item.matches:
        gives = rules.patterns[match.pattern].gives
        if "step" in gives:
            text = match.groups[gives.index("step")].replace(",", "")
            try:
                return float(text)
            except ValueError:
                return None
    return None


def run_state(
    readings: Iterable[Reading],
    seen: Sequence[Seen],
    progress: Sequence[Seen],
    rules: RuleSet,
    ranks: Ranks,
    began: Began,
    attempt: int,
    *,
    hung: bool,
) -> RunState:
    """Conclude how an attempt ended.

    Healthy needs positive evidence. A log that just stops is stalled where something shows that time passed (the user
    says so, a stack dump, another rank's later clock), else its end is unknown.
    """
    steps = _last_steps(progress, rules)
    bad = [
        event
        for event in began.events
        if event.kind in ("collateral", "teardown", "summary") and event.kind != "teardown"
    ]
    if began.event is not None:
        return RunState("failed", "a failure was printed", began.event.seen.line, steps)
    completed = [item for item in seen if _is(item, rules, "completion")]
    if completed and not any(_after(item.seen, completed[-1]) for item in bad):
        return RunState("completed", "the run reports its end", completed[-1].line, steps)
    if bad:
        return RunState("failed", "only events that follow from a failure were printed", bad[0].seen.line, steps)
    if hung:
        return RunState("stalled", "you say that it hangs", None, steps)
    if any(_is(item, rules, "stack") for item in seen):
        return RunState("stalled", "the input holds stacks of processes that were alive and stood still", None, steps)
    silent = _fell_behind(
        [reading for reading in readings if reading.last is not None and reading.last.attempt == attempt]
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


def _last_steps(progress: Iterable[Seen], rules: RuleSet) -> dict[int, str]:
    steps: dict[int, str] = {}
    for item in progress:
        for match in item.matches:
            gives = rules.patterns[match.pattern].gives
            if item.line.rank is not None and "step" in gives:
                steps[item.line.rank] = match.groups[gives.index("step")]
    return steps


def _fell_behind(readings: Sequence[Reading]) -> Line | None:
    """Return the last line of the file that stopped minutes before the others."""
    lasts = [reading.last for reading in readings if reading.last is not None and reading.last.clock is not None]
    if len(lasts) < 2:
        return None
    first, last = min(lasts, key=_clock), max(lasts, key=_clock)
    return first if _clock(last) - _clock(first) > _STALL_SECONDS else None


def _clock(line: Line) -> float:
    return line.clock or 0.0


def _after(left: Seen, right: Seen) -> bool:
    return left.line.file == right.line.file and left.line.number > right.line.number


def _is(item: Seen, rules: RuleSet, kind: str) -> bool:
    return any(
        rules.patterns[match.pattern].name == kind
        for match in item.matches
        if rules.patterns[match.pattern].target == "mark"
    )
