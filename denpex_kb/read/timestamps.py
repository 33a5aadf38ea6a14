"""When was it? The time stamps of lines, by formats that are data."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from denpex_kb.model.prefix import TimeFormat

_REACH = 120  # characters; a stamp further right belongs to what the message talks about
_HINT = re.compile(r"\d:\d\d|\.\d{6}\]").search  # what every stamp holds; most lines hold none
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_NO_YEAR = 2000  # a leap year, so that 29 February can be read
_BOOT = dt.datetime(1970, 1, 1)  # what uptimes are counted from
_ZONES = {"UTC": "+0000", "GMT": "+0000", "Z": "+0000"}

Known = Literal["full", "no-year", "clock", "uptime"]


class Stamp(Struct, frozen=True, gc=False):
    """A time as a line states it, without its zone.

    Where `known` is `clock` or `uptime`, `when` orders only lines of the same machine that are known likewise.
    """

    when: dt.datetime
    zone: Literal["utc", "local"]
    precision_s: float
    uptime: float | None = None
    known: Known = "full"


class TimeReader:
    """Reads time stamps, by formats that are data."""

    def __init__(self, formats: Iterable[TimeFormat]) -> None:
        """Take the formats, the preferred ones first."""
        held = tuple(formats)
        self._gives: dict[int, tuple[str, ...]] = {}
        number = 1
        for shape in held:
            self._gives[number] = shape.gives
            number += 1 + re.compile(shape.pattern).groups
        self._search = re.compile("|".join(f"({shape.pattern})" for shape in held)).search

    def parse_time(self, text: str, year: int | None = None) -> Stamp | None:
        """Find the first time stamp near the start of a line.

        Args:
            text: the line, or the text of its stamp.
            year: what to take where the line states no year; a full stamp elsewhere in the file tells it.

        """
        if _HINT(text, 0, _REACH) is None:
            return None
        position = 0
        while (match := self._search(text, position, _REACH)) is not None:
            outer = match.lastindex or 1  # the group of the format, which closes last
            gives = self._gives[outer]
            parts = {
                name: value for index, name in enumerate(gives, outer + 1) if (value := match.group(index)) is not None
            }
            try:
                return _stamp(parts, year)
            except ValueError:  # digits that look like a date and are none
                position = match.end()
        return None


def _stamp(parts: dict[str, str], year: int | None) -> Stamp:
    if "uptime" in parts:
        uptime = float(parts["uptime"])
        return Stamp(_BOOT + dt.timedelta(seconds=uptime), "local", 1e-6, uptime, "uptime")
    known: Known = "full"
    if "short_year" in parts:
        year = 2000 + int(parts["short_year"])
    elif "year" in parts:
        year = int(parts["year"])
    elif "day" not in parts:
        known = "clock"
    elif year is None:
        known = "no-year"
    month = _MONTHS.index(parts["month_name"]) + 1 if "month_name" in parts else int(parts.get("month", "1"))
    fraction = parts.get("fraction", "")
    when = dt.datetime(
        _NO_YEAR if year is None or known == "clock" else year,
        month,
        int(parts.get("day", "1")),
        int(parts["hour"]),
        int(parts["minute"]),
        int(parts["second"]),
        int(fraction[:6].ljust(6, "0") or "0"),
    )
    precision = 10.0 ** -len(fraction)
    offset = _offset(parts.get("zone"))
    if offset is None:
        return Stamp(when, "local", precision, None, known)
    return Stamp(when - offset, "utc", precision, None, known)


def _offset(zone: str | None) -> dt.timedelta | None:
    """Return how far a zone is ahead of UTC; None where it has no known one."""
    digits = _ZONES.get(zone, zone) if zone else None
    if digits is None or digits[0] not in "+-":
        return None
    hours, minutes = int(digits[1:3]), int(digits[-2:])
    return dt.timedelta(hours=hours, minutes=minutes) * (-1 if digits[0] == "-" else 1)
