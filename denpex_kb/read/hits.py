"""Where patterns end in a piece of a log → the lines that match."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct


class HitLine(NamedTuple):
    """A line of a piece that matches."""

    start: int
    stop: int  # where its line feed stands
    feeds: int  # line feeds before it
    patterns: tuple[int, ...]


class Scanned(Struct, frozen=True):
    """A piece of a log that was looked at."""

    data: bytes
    lines: Sequence[HitLine]
    feeds: int  # line feeds in it
    traceback: bool  # whether one begins in it


def lines_hit(piece: bytes, hits: Sequence[tuple[int, int]]) -> Iterator[HitLine]:
    """Return the lines that match.

    Args:
        piece: the bytes.
        hits: where a match ends, and the pattern; in the order of the places.
    """
    at, size, feeds, counted = 0, len(hits), 0, 0
    while at < size:
        end = hits[at][0]
        start = piece.rfind(b"\n", 0, max(end - 1, 0)) + 1
        stop = piece.find(b"\n", max(end - 1, start))
        stop = len(piece) if stop < 0 else stop
        patterns: set[int] = set()
        while at < size and (hits[at][0] <= stop or hits[at][0] - 1 < stop):
            patterns.add(hits[at][1])
            at += 1
        if not patterns:  # a match of the line feed itself
            at += 1
            continue
        feeds += piece.count(b"\n", counted, start)
        counted = start
        yield HitLine(start, stop, feeds, tuple(sorted(patterns)))
