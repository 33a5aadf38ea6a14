"""What is remembered of a log that is longer than memory: its end, and the last of what repeats."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from denpex_kb.read.text import CLIP

_MOST = 2048  # repeated lines that are remembered of one file


class Tail:
    """The end of a stream of pieces."""

    def __init__(self, size: int) -> None:
        """Remember at least `size` bytes, and less than twice as many where lines are no longer than that."""
        self._size = size
        self._pieces: deque[tuple[bytes, int]] = deque()
        self._held = 0

    def add(self, piece: bytes, line: int) -> None:
        """Add a piece that begins with the line of that number."""
        self._pieces.append((piece, line))
        self._held += len(piece)
        while self._held - len(self._pieces[0][0]) >= self._size:
            self._held -= len(self._pieces.popleft()[0])

    def take(self) -> tuple[bytes, int]:
        """Return the end, from the beginning of a line, and that line's number."""
        if not self._pieces:
            return b"", 1
        data, line = b"".join(piece for piece, _ in self._pieces), self._pieces[0][1]
        if len(data) > 2 * self._size:
            cut = data.rfind(b"\n", 0, len(data) - self._size) + 1 or len(data) - self._size
            line += data.count(b"\n", 0, cut)
            data = data[cut:]
        return data, line

    @property
    def open_end(self) -> bool:
        """Whether the last line has no line feed."""
        return bool(self._pieces) and not self._pieces[-1][0].endswith(b"\n")


class Repeats:
    """The last lines of patterns that matched so often that their lines are only counted.

    Lines are told apart by the patterns and by what they begin with, where most prefixes name the rank; the oldest give
    way, so that the last one of every rank is among those that stay.
    """

    def __init__(self) -> None:
        """Begin without any."""
        self._held: dict[tuple[tuple[int, ...], bytes], tuple[bytes, int, int]] = {}

    def add(self, patterns: tuple[int, ...], raw: bytes, number: int, offset: int) -> None:
        """Remember a line in place of the one before."""
        key = (patterns, raw[:64].split(b" ", 1)[0])
        held = self._held
        held.pop(key, None)
        held[key] = (raw[: 4 * CLIP], number, offset)
        if len(held) > _MOST:
            del held[next(iter(held))]

    def items(self) -> Iterator[tuple[tuple[int, ...], bytes, int, int]]:
        """Go through what is remembered: the patterns, the line, its number and offset; the oldest first."""
        for (patterns, _), line in self._held.items():
            yield patterns, *line
