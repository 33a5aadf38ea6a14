"""When was it, comparably: stamps without a year, lines without a stamp, clocks of several hosts."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from statistics import median

from msgspec import Struct

from denpex_kb.model.events import Line, Reading

_EPOCH = datetime(1970, 1, 1)
_NO_YEAR = (datetime(2000, 1, 1) - _EPOCH).total_seconds()
_FIRST_YEAR = (datetime(2001, 1, 1) - _EPOCH).total_seconds()
_DAY = 86400.0
QUARTER = 900.0  # zones differ by whole quarters of an hour
NEAR_QUARTER = 180.0
ZONES = 14 * 3600.0  # by which two clocks that state no zone may differ
_OWN_STAMP = re.compile(r"\b[EWIF]\d{3,4} (\d\d):(\d\d):(\d\d)\.")
NTP = 1.0  # seconds by which the clocks of two hosts differ where nothing tells more


class Span(Struct, frozen=True):
    """The time within which a line was printed; both ends are equal where the line states its time."""

    low: float
    high: float
    guess: float | None = None  # what other lines suggest: the end of its process, a record of its device

    @property
    def best(self) -> float:
        """The one time to go by: before a failure the output is dense, behind it there may be minutes of silence."""
        if self.guess is not None:
            return self.guess
        return self.low if self.low != float("-inf") else self.high

    @property
    def exact(self) -> bool:
        """Whether the line states its time."""
        return self.low == self.high


class Clocks:
    """The times of all lines of an input, on one scale."""

    def __init__(self, readings: Iterable[Reading]) -> None:
        """Index the stamps of every file by line."""
        held = list(readings)
        self._year = _common_year(held)
        self._numbers: dict[str, list[int]] = {}
        self._times: dict[str, list[float]] = {}
        self._day: dict[str, float] = {}
        self._shift: dict[str, float] = {}
        for reading in held:
            self._index(reading)
        self.skew = NTP
        self.zone = _zone(held)

    def of(self, line: Line) -> float | None:
        """Return the time that a line states; None where it states none that can be compared."""
        time = self._scaled(line.clock, line.file) if line.clock is not None else None
        return None if time is None else time + self._shift.get(line.file, 0.0)

    def span(self, line: Line) -> Span | None:
        """Return within which time a line was printed; a line without a stamp lies between its neighbours."""
        stated = self.of(line)
        if stated is not None:
            return Span(stated, stated)
        numbers, times = self._numbers.get(line.file), self._times.get(line.file)
        if not numbers or not times:
            return None
        at = bisect_left(numbers, line.number)
        low = times[at - 1] if at else float("-inf")
        high = times[at] if at < len(times) else float("inf")
        return Span(low, max(low, high)) if at else Span(low, high)

    def whole(self, file: str) -> tuple[float, float] | None:
        """Return the first and the last time that a file states; None where it states none that can be compared."""
        times = self._times.get(file)
        return (times[0], times[-1]) if times else None

    def shift(self, file: str, seconds: float) -> None:
        """Put a file, whose clock shows another zone, on the scale of the others."""
        self._shift[file] = self._shift.get(file, 0.0) + seconds
        self._times[file] = [time + seconds for time in self._times.get(file, [])]

    @staticmethod
    def written(seconds: float) -> str:
        """Write a time of this scale as ISO 8601, without the year where the input states none."""
        when = (_EPOCH + timedelta(seconds=seconds)).isoformat(timespec="milliseconds")
        return when if seconds >= _FIRST_YEAR else f"--{when[5:]}"

    def learn_skew(self, shared: Iterable[tuple[str, float]]) -> None:
        """Estimate how far hosts' clocks differ, by (host, time) of an event that all hosts share."""
        by_host: dict[str, list[float]] = {}
        for host, time in shared:
            by_host.setdefault(host, []).append(time)
        if len(by_host) > 1:
            middles = [median(times) for times in by_host.values()]
            spread = max(middles) - min(middles)
            if spread < 120.0:  # more is another zone, or not the same event
                self.skew = max(NTP, spread)

    def _index(self, reading: Reading) -> None:
        stamps = [
            (seen.line.number, seen.line.clock)
            for seen in (*reading.seen, *reading.progress)
            if seen.line.clock is not None
        ]
        stamps += reading.times
        name = reading.origin.name
        days = [clock for _, clock in stamps if clock >= _NO_YEAR + _DAY]
        if days:
            self._day[name] = (self._with_year(days[0]) // _DAY) * _DAY
        scaled = sorted(
            {number: time for number, clock in stamps if (time := self._scaled(clock, name)) is not None}.items()
        )
        self._numbers[name] = [number for number, _ in scaled]
        self._times[name] = [time for _, time in scaled]

    def _scaled(self, clock: float, file: str) -> float | None:
        if clock < _NO_YEAR:
            return None  # an uptime: no scale but its own machine's
        if clock < _NO_YEAR + _DAY:
            day = self._day.get(file) or next(iter(self._day.values()), None)
            return None if day is None else day + clock - _NO_YEAR
        return self._with_year(clock)

    def _with_year(self, clock: float) -> float:
        if clock >= _FIRST_YEAR or self._year is None:
            return clock
        when = _EPOCH + timedelta(seconds=clock)
        try:
            return (when.replace(year=self._year) - _EPOCH).total_seconds()
        except ValueError:  # 29 February
            return clock


def _common_year(readings: Iterable[Reading]) -> int | None:
    years: Counter[int] = Counter()
    for reading in readings:
        for clock in [seen.line.clock for seen in (*reading.seen, *reading.progress)] + [
            time for _, time in reading.times
        ]:
            if clock is not None and clock >= _FIRST_YEAR:
                years[(_EPOCH + timedelta(seconds=clock)).year] += 1
    return years.most_common(1)[0][0] if years else None


def _zone(readings: Iterable[Reading]) -> float:
    """Return by how much the clocks of the job are ahead of those of the collector that stamps its lines.

    A line with the stamp of a collector (mostly UTC) and one of PyTorch's own (local time) tells.
    """
    shifts: Counter[float] = Counter()
    for reading in readings:
        for seen in reading.seen:
            clock = seen.line.clock
            if clock is None or clock < _FIRST_YEAR or (own := _OWN_STAMP.search(seen.line.text, 0, 80)) is None:
                continue
            hours, minutes, seconds = (int(part) for part in own.groups())
            gap = (hours * 3600 + minutes * 60 + seconds - clock % _DAY + _DAY / 2) % _DAY - _DAY / 2
            shifts[round(gap / QUARTER) * QUARTER] += 1
    return shifts.most_common(1)[0][0] if shifts else 0.0


def without_zone(gap: float) -> float:
    """Return a gap between two emitters without what looks like another time zone."""
    if abs(gap) > ZONES:
        return gap
    quarters = round(gap / QUARTER) * QUARTER
    if quarters and abs(gap - quarters) <= NEAR_QUARTER and abs(quarters) >= 2 * QUARTER:
        return gap - quarters
    return gap
