"""Text that is safe to show: what a log or a private catalog holds may be hostile."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

# By what a file is known as a report that denpex wrote: it may be written again, and is never read as a log.
REPORT = '<meta name="generator" content="denpex '
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)


def printable(text: str) -> str:
    """Make one line safe to print: control, bidirectional and invisible characters become visible marks."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE.sub("\N{REPLACEMENT CHARACTER}", text.replace("\t", " "))


def printable_lines(text: str) -> str:
    """Make several lines safe to print; line feeds and tabs stay."""
    return "\n".join(_UNSAFE.sub("\N{REPLACEMENT CHARACTER}", line) for line in text.split("\n"))


def one_line(text: str) -> str:
    """Make a text safe and put it on one line, for names of files and hosts."""
    return printable(" ".join(text.split("\n")).replace("\r", "\N{REPLACEMENT CHARACTER}"))


def spans(numbers: Iterable[int], most: int | None = None) -> str:
    """Write ranks as spans: 0-6, 9; of more spans than `most`, the first of them and how many ranks it is in all."""
    spans: list[tuple[int, int]] = []
    ordered = sorted(numbers)
    for number in ordered:
        if spans and number == spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], number)
        else:
            spans.append((number, number))
    written = [str(first) if first == last else f"{first}-{last}" for first, last in spans]
    if most is None or len(written) <= most:
        return ", ".join(written)
    return f"{', '.join(written[:most])}, … ({len(ordered)} in all)"


class Excerpt(Struct, frozen=True):
    """Some lines of the input in a row, free of secrets."""

    first: int  # the number of the first of them
    lines: tuple[str, ...]
