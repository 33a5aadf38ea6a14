"""How far a run came: steps, epochs, time, completion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from denpex_kb.api import KnowledgeBase
from denpex_kb.model.events import Reading, Seen
from denpex_kb.model.rules import RuleSet
from denpex_kb.pipeline.logs import LogDiagnoser
from denpex_kb.read.files import binary_reason, collect, read_chunks
from denpex_kb.read.paths import PathReader


class Reach(Struct, frozen=True):
    """How far a run came, as its logs show."""

    at: tuple[float, float] | None = None  # (epoch, step) of the furthest progress line
    steps: int = 0  # progress lines
    elapsed: float | None = None  # seconds between the first and the last time stamp
    completed: bool = False

    def spoken(self) -> str:
        """Say it in words."""
        if self.completed:
            return "to its end"
        if self.at is not None and self.at[1] >= 0:
            return f"to step {self.at[1]:g}" + (f" of epoch {self.at[0]:g}" if self.at[0] > 0 else "")
        if self.steps:
            return f"through {self.steps} line{'s' * (self.steps != 1)} of progress"
        return f"{self.elapsed:.0f} s far, without a step" if self.elapsed is not None else "to no step"

    def passed(self, other: Reach) -> bool | None:
        """Say whether this run came further than another; None where nothing in the logs can be compared."""
        if self.completed:
            return True
        if self.at is not None and other.at is not None:
            return self.at > other.at
        if self.steps or other.steps:
            return self.steps > other.steps
        if self.elapsed is not None and other.elapsed is not None:
            return self.elapsed > other.elapsed
        return None


def read_reach(kb: KnowledgeBase, paths: Sequence[Path]) -> Reach:
    """Read how far a run came.

    Raises:
        InputError: nothing can be read there.
    """
    scanner = LogDiagnoser(kb.index).scanner
    by_path = PathReader(kb.index.kb.paths)
    files, notes = collect(paths)
    readings = []
    for file in files:
        chunks = read_chunks(file.path, notes)
        first = next(chunks, b"")
        if first and binary_reason(first) is None:
            readings.append(scanner.scan(_chain(first, chunks), by_path.read(file.name)))
    return reach_of(readings, kb.index.rules)


def _chain(first: bytes, rest: Iterable[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def reach_of(readings: Sequence[Reading], rules: RuleSet) -> Reach:
    """Return how far the readings of one run came together."""
    progress = [item for reading in readings for item in reading.progress]
    points = [point for item in progress if (point := _point(item, rules)) is not None]
    lines = [seen.line for reading in readings for seen in (*reading.seen, *reading.progress)]
    times = [line.clock for line in lines if line.clock is not None]
    times += [clock for reading in readings for _, clock in reading.times]
    completed = any(
        rules.patterns[match.pattern].name == "completion"
        for reading in readings
        for item in reading.seen
        for match in item.matches
        if rules.patterns[match.pattern].target == "mark"
    )
    elapsed = max(times) - min(times) if len(times) > 1 else None
    return Reach(max(points, default=None), len(progress), elapsed, completed)


def _point(item: Seen, rules: RuleSet) -> tuple[float, float] | None:
    values: dict[str, float] = {}
    for match in item.matches:
        for name, text in zip(rules.patterns[match.pattern].gives, match.groups, strict=False):
            try:
                values.setdefault(name, float(text.replace(",", "")))
            except ValueError:
                continue
    if "step" not in values and "epoch" not in values:
        return None
    return values.get("epoch", 0.0), values.get("step", -1.0)
