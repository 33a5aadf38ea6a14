"""Tracebacks that are not written line by line as Python prints them → lines that the patterns know.

torchrun's failure block holds one in a field, error files and JSON loggers hold one in a string, notebooks and rich
draw them, Windows has slashes of its own. Every form names its head, so that a piece without one costs one search.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from msgspec import Struct

from denpex_kb.read.drawn import Box, Notebook
from denpex_kb.read.prefixes import Prefix, PrefixReader
from denpex_kb.read.text import CLIP, HEAD, holds_traceback

_PLAIN = "Traceback (most recent call last):"
_REACH = 5000  # lines within which a traceback must end
_MOST_OPEN = 64  # tracebacks of processes that write into one file at the same time
_MOST_JSON = 1 << 20  # bytes of a line that is parsed as JSON
_MOST_LINES = 2000  # lines out of one string
_MOST_BESIDE = 400  # bytes on the line before and behind a frame of Windows
_LOOK_BACK = 2000  # bytes above a field in which the rank of its block stands
_FIELD = re.compile(r"^\s{0,4}traceback : Traceback \(most recent call last\)")
_FIELD_ENDS = re.compile(
    r"^\s{0,4}(?:={10,}|-{10,}|\[\d{1,6}\]:|Root Cause |[\w ]{4,10}: \S{1,40} \((?:local_rank|pid): )"
)
_BACKSLASHED = re.compile(rb'File "[A-Za-z]:\\[^"\n]{1,500}", line \d')
_ARROW = re.compile(r"-> ?(\d{1,7})\b")
_BLOCK_RANK = re.compile(rb"\brank {6}: (\d{1,7}) \(local_rank: (\d{1,5})\)")
_KEYS = ("py_callstack", "exc_info", "exception", "exc_text", "stack_trace", "traceback", "stack")
_MESSAGES = ("message", "msg", "event")
_RANKS = ("rank", "global_rank", "RANK")
_LOCAL_RANKS = ("local_rank", "LOCAL_RANK")


class Unfolded(Struct):
    """A line as the patterns know it, and the line of the file that it stands for."""

    number: int
    start: int  # in the piece; those of one line of the file count on from its first byte
    raw: bytes
    text: str  # what the patterns see
    own: bool = False  # shown as `text`, which the file holds inside a string
    rank: int | None = None
    local_rank: int | None = None
    beside: bool = False  # the line itself is looked at as well


class Told(Struct, frozen=True):
    """What a JSON line holds."""

    lines: tuple[str, ...]
    rank: int | None = None
    local_rank: int | None = None


class Region(Protocol):
    """A traceback that is being read."""

    done: bool

    def take(self, text: str) -> str | None:
        """Return what a line is to the patterns, or None where it is none of the traceback's own."""


class _Open(Struct):
    region: Region
    until: int
    rank: int | None = None
    local_rank: int | None = None


class Unfolder:
    """Finds such tracebacks in the pieces of one file, which are handed over in their order."""

    def __init__(self, prefixes: PrefixReader) -> None:
        """Take the reader of prefixes, which say whose lines they are."""
        self._prefixes = prefixes
        self._open: dict[tuple[object, ...], _Open] = {}

    @property
    def open(self) -> bool:
        """Whether a traceback goes on in the next piece."""
        return bool(self._open)

    def feed(self, piece: bytes, first: int, before: bytes) -> list[Unfolded]:
        """Return the unfolded lines of a piece.

        Args:
            piece: the bytes, of whole lines.
            first: the number of its first line.
            before: the end of what came before it.
        """
        if not self._open and not holds_traceback(piece):
            return []
        found = list(self._lines(piece, first, before))
        return found + list(_slashed(piece, first, {item.number for item in found})) if b":\\" in piece else found

    def _lines(self, piece: bytes, first: int, before: bytes) -> Iterator[Unfolded]:
        at, number, size = 0, first, len(piece)
        while at < size:
            if not self._open:
                found = piece.find(HEAD, at)
                if found < 0:
                    return
                start = piece.rfind(b"\n", at, found) + 1 or at
                number += piece.count(b"\n", at, start)
                at = start
            stop = piece.find(b"\n", at)
            stop = size if stop < 0 else stop
            raw = piece[at:stop]
            headed = HEAD in raw
            if self._open or (headed and not raw.rstrip().endswith(b"(most recent call last):")) or b" : T" in raw:
                yield from self._line(raw, number, at, headed, piece, before)
            at, number = stop + 1, number + 1

    def _line(
        self, raw: bytes, number: int, start: int, headed: bool, piece: bytes, before: bytes
    ) -> Iterator[Unfolded]:
        if headed and b"{" in raw:
            told = unfold_json(raw)
            if told is not None:
                for place, text in enumerate(told.lines):
                    yield Unfolded(
                        number, start + place, raw, text, own=True, rank=told.rank, local_rank=told.local_rank
                    )
                return
        prefix = self._prefixes.read(raw[: 4 * CLIP].decode("utf-8", "replace")[:CLIP])
        who = _who(prefix)
        if headed:
            opened = self._opened(prefix.rest, number, start, piece, before)
            if opened is not None:
                if len(self._open) < _MOST_OPEN:
                    self._open[who] = opened
                beside = isinstance(opened.region, Field)
                yield Unfolded(
                    number, start, raw, _PLAIN, rank=opened.rank, local_rank=opened.local_rank, beside=beside
                )
                return
            self._open.pop(who, None)
        current = self._open.get(who)
        if current is not None:
            known = current.region.take(prefix.rest)
            if known is not None:
                yield Unfolded(number, start, raw, known, rank=current.rank, local_rank=current.local_rank)
        if self._open:
            self._open = {key: item for key, item in self._open.items() if not item.region.done and number < item.until}

    def _opened(self, text: str, number: int, start: int, piece: bytes, before: bytes) -> _Open | None:
        until = number + _REACH
        if _FIELD.match(text):
            above = piece[max(0, start - _LOOK_BACK) : start]
            above = before[-_LOOK_BACK:] + above if start < _LOOK_BACK else above
            stated = next(reversed(list(_BLOCK_RANK.finditer(above))), None)
            rank, local_rank = (int(stated.group(1)), int(stated.group(2))) if stated is not None else (None, None)
            return _Open(Field(), until, rank, local_rank)
        region = Box.opened(text) or Notebook.opened(text)
        return _Open(region, until) if region is not None else None


def unfold_lines(lines: Sequence[str], prefixes: PrefixReader) -> list[str]:
    """Write the tracebacks among some lines as Python prints them; lines that say nothing are left out."""
    told: dict[int, list[str]] = defaultdict(list)
    for item in Unfolder(prefixes).feed("\n".join(lines).encode("utf-8", "replace"), 1, b""):
        text = item.text
        if ", line 0, in " in text:  # an old notebook numbers the failing line below the frame, and there only
            arrow = next(filter(None, map(_ARROW.search, lines[item.number : item.number + 12])), None)
            text = text.replace(", line 0, in ", f", line {arrow.group(1)}, in ", 1) if arrow is not None else text
        told[item.number].append(text)
    return [text for number, line in enumerate(lines, 1) for text in told.get(number, [line]) if text or not line]


class Field:
    """The field `traceback` of torchrun's failure block, which indents the traceback."""

    def __init__(self) -> None:
        """Begin behind the head."""
        self.done = False
        self._indent: int | None = None

    def take(self, text: str) -> str | None:
        """Return a line without the block's indent; the block's rule ends the field."""
        if _FIELD_ENDS.match(text):
            self.done = True
            return None
        bare = text.lstrip()
        if self._indent is None and bare.startswith('File "'):
            self._indent = max(len(text) - len(bare) - 2, 0)
        indent = min(self._indent or 0, len(text) - len(bare))
        return text[indent:]


def _slashed(piece: bytes, first: int, known: set[int]) -> Iterator[Unfolded]:
    """Return the frames of Windows with the slashes that the patterns know."""
    number, counted = first, 0
    for match in _BACKSLASHED.finditer(piece):
        least = max(match.start() - _MOST_BESIDE, 0)
        start = piece.rfind(b"\n", least, match.start()) + 1
        stop = piece.find(b"\n", match.end(), match.end() + _MOST_BESIDE)
        stop = len(piece) if stop < 0 and len(piece) - match.end() < _MOST_BESIDE else stop
        if stop < 0 or (not start and least):
            continue  # inside a long line of another kind
        number += piece.count(b"\n", counted, start)
        counted = start
        if number not in known:
            frame = piece[match.start() : stop].decode("utf-8", "replace")
            yield Unfolded(number, start, piece[start:stop], "  " + frame.replace("\\", "/"))


def _who(prefix: Prefix) -> tuple[object, ...]:
    return prefix.rank, prefix.local_rank, prefix.task, prefix.pid, prefix.host, prefix.pod


def unfold_json(raw: bytes) -> Told | None:
    """Return the lines of the traceback that a line of JSON holds, the message of a log line in front."""
    if len(raw) > _MOST_JSON:
        return None
    text = raw.decode("utf-8", "replace")
    try:
        found, _ = json.JSONDecoder().raw_decode(text, text.index("{"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    levels = [found, *_inner(found), *(deep for level in _inner(found) for deep in _inner(level))]
    held: str | None = next((level[key] for level in levels for key in _KEYS if _is_traceback(level.get(key))), None)
    if held is None:
        return None
    message: str = next((found[key] for key in _MESSAGES if isinstance(found.get(key), str)), "")
    if _is_traceback(message) or message.strip() in held:
        message = ""
    lines = [*message.split("\n")[:20], *held.split("\n")] if message else held.split("\n")
    return Told(
        tuple(line.rstrip()[:CLIP] for line in lines[:_MOST_LINES] if line.strip()),
        _stated(levels, _RANKS),
        _stated(levels, _LOCAL_RANKS),
    )


def _inner(level: dict[str, Any]) -> list[dict[str, Any]]:
    return [value for value in list(level.values())[:200] if isinstance(value, dict)]


def _is_traceback(value: object) -> bool:
    return isinstance(value, str) and "Traceback (most recent call last)" in value


def _stated(levels: list[dict[str, Any]], names: tuple[str, ...]) -> int | None:
    for level in levels:
        for name in names:
            value = str(level.get(name, ""))
            if value.isascii() and value.isdigit() and len(value) < 8:
                return int(value)
    return None
