"""Where a moment stands in the picture: pauses are shortened, so that what happened within seconds can be read."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import pairwise

from msgspec import Struct

from denpex_kb.model.diagnosis import Course

_LEFT, _RIGHT = 1.5, 97.5  # per cent of the width that are used
_LEAST_APART = 15.0  # per cent between two labels
_PAUSE_WIDTH = 11.0  # per cent from which a pause can carry a label
_PAUSE = 20.0  # seconds from which a pause is named
_MOST_MOMENTS = 400


class Tick(Struct, frozen=True):
    """A labelled place on the axis, in per cent of the width."""

    x: float
    text: str
    anchor: str = "middle"
    narrow: bool = True  # whether there is room for it on a telephone


class Scale:
    """Maps moments to places; the wider a gap, the less of it is drawn."""

    def __init__(self, moments: Iterable[float]) -> None:
        """Take every moment that is drawn."""
        held = sorted({round(moment, 2) for moment in moments})
        while len(held) > _MOST_MOMENTS:
            held = [*held[:-1:2], held[-1]]
        self.moments = held
        span = held[-1] - held[0] if held else 0.0
        unit = max(span / 300.0, 1e-6)
        widths = [math.log2(1.0 + (after - before) / unit) for before, after in pairwise(held)]
        total = sum(widths) or 1.0
        self._places = [_LEFT]
        for width in widths:
            self._places.append(self._places[-1] + width / total * (_RIGHT - _LEFT))

    @property
    def drawn(self) -> bool:
        """Whether there is more than one moment to draw."""
        return len(self.moments) > 1

    def x(self, moment: float) -> float:
        """Return the place of a moment, in per cent of the width."""
        held = self.moments
        if not held or moment <= held[0]:
            return _LEFT
        if moment >= held[-1]:
            return self._places[-1]
        at = bisect_right(held, moment) - 1
        share = (moment - held[at]) / (held[at + 1] - held[at])
        return self._places[at] + share * (self._places[at + 1] - self._places[at])

    def ticks(self, first: Iterable[float], label: Labels) -> list[Tick]:
        """Return labels that do not touch; those of `first` are placed before the others."""
        ticks: list[Tick] = []
        ends = [self.moments[0], self.moments[-1]] if self.moments else []
        for moment in (*first, *ends, *self.moments):
            x = self.x(moment)
            if all(abs(x - tick.x) >= _LEAST_APART for tick in ticks):
                anchor = "start" if x < 6 else "end" if x > 93 else "middle"
                ticks.append(Tick(x, label.of(moment), anchor))
        return sorted(ticks, key=lambda tick: tick.x)

    def pauses(self) -> list[Tick]:
        """Return the pauses that are worth a word, each in its middle."""
        found = []
        for before, after in pairwise(self.moments):
            left, right = self.x(before), self.x(after)
            if after - before >= _PAUSE and right - left >= _PAUSE_WIDTH:
                found.append(Tick((left + right) / 2, duration(after - before)))
        return found


class Labels:
    """Writes the moments of a course as the clock showed them."""

    def __init__(self, course: Course) -> None:
        """Take the start of the course."""
        self._start: datetime | None = None
        if course.start is not None:
            try:
                self._start = datetime.fromisoformat(course.start.replace("--", "2000-", 1))
            except ValueError:
                self._start = None
        self._days = self._start is not None and (
            (self._start + timedelta(seconds=course.seconds or 0.0)).date() != self._start.date()
        )

    @property
    def day(self) -> str:
        """The day on which the course began, as far as the input states it."""
        return "" if self._start is None else self._start.strftime("%d %b" if self._start.year == 2000 else "%d %b %Y")

    def of(self, moment: float) -> str:
        """Write a moment."""
        if self._start is None:
            return f"+{duration(moment)}"
        return (self._start + timedelta(seconds=moment)).strftime("%d %b %H:%M:%S" if self._days else "%H:%M:%S")


def duration(seconds: float) -> str:
    """Write how long something took, in the two units that matter."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} min {rest} s" if rest and minutes < 10 else f"{minutes} min"
    if seconds < 172800:
        hours, rest = divmod(round(seconds / 60), 60)
        return f"{hours} h {rest} min" if rest else f"{hours} h"
    return f"{seconds / 86400:.0f} days"
