"""Whose line is it? The prefixes that stack up in front of a message."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable

from msgspec import Struct

from denpex_kb.model.prefix import PrefixFormat

_BELIEVED_FROM = 0.6  # of the non-empty lines, for formats that ordinary text may look like
_DEPTH = 8  # collector, pod, label, tee, rank hook, ...: five have been seen on one line
_NUMBERS = frozenset({"rank", "local_rank", "group_rank", "pg_rank", "task", "pid", "device"})
_ASCII = [chr(code) for code in range(128)]


class Prefix(Struct, frozen=True, gc=False):
    """What stands in front of a message, and the message."""

    rest: str
    length: int = 0
    rank: int | None = None
    local_rank: int | None = None
    group_rank: int | None = None
    pg_rank: int | None = None
    task: int | None = None
    host: str | None = None
    ip: str | None = None
    pid: int | None = None
    device: int | None = None
    pod: str | None = None
    role: str | None = None
    time_text: str | None = None


_Try = tuple[Callable[[str, int], "re.Match[str] | None"], PrefixFormat]


class PrefixReader:
    """Reads the prefixes of lines, by formats that are data."""

    def __init__(self, formats: Iterable[PrefixFormat], believed: frozenset[str] = frozenset()) -> None:
        """Take the formats; of the sampled ones only those believed are in use."""
        self._formats = tuple(formats)
        self._believed = believed
        self._table, self._other = _dispatch(f for f in self._formats if not f.sampled or f.id in believed)

    @property
    def believed(self) -> frozenset[str]:
        """The ids of the sampled formats in use."""
        return self._believed

    def sample(self, lines: Iterable[str]) -> PrefixReader:
        """Return a reader that also reads the sampled formats which most of these lines carry."""
        held = [line for line in lines if line.strip()]
        reader = self
        for _ in range(3):  # sampled prefixes may stack: a host's behind a collector's, a label's behind a host's
            more = reader._carried(held)
            if not more:
                break
            reader = PrefixReader(self._formats, reader._believed | more)
        return reader

    def read(self, line: str) -> Prefix:
        """Strip the stacked prefixes from the left and say what they state."""
        position = 0
        found: dict[str, str] = {}
        weight = -1
        for _ in range(_DEPTH):
            step = self._step(line, position)
            if step is None:
                break
            match, shape = step
            for name, value in zip(shape.gives, match.groups(), strict=False):
                if value is None:
                    continue
                if name == "rank":
                    if shape.weight >= weight:
                        found[name], weight = value, shape.weight
                elif name not in found:
                    found[name] = value
            if shape.keep:
                break
            position = match.end()
        if not found:
            return Prefix(line[position:] if position else line, position)
        return Prefix(
            rest=line[position:],
            length=position,
            time_text=found.pop("time", None),
            **{name: int(value) if name in _NUMBERS else value for name, value in found.items()},  # type: ignore[arg-type]
        )

    def _step(self, line: str, position: int) -> tuple[re.Match[str], PrefixFormat] | None:
        for attempt, shape in self._table.get(line[position : position + 1], self._other):
            match = attempt(line, position)
            if match is not None and match.end() > position:
                return match, shape
        return None

    def _carried(self, lines: list[str]) -> frozenset[str]:
        sampled = [(f.id, re.compile(f.pattern)) for f in self._formats if f.sampled and f.id not in self._believed]
        counts: Counter[str] = Counter()
        for line in lines:
            position, seen = 0, set()
            for _ in range(_DEPTH):
                seen |= {name for name, pattern in sampled if pattern.match(line, position)}
                step = self._step(line, position)
                if step is None or step[1].keep:
                    break
                position = step[0].end()
            counts.update(seen)
        enough = _BELIEVED_FROM * len(lines)
        return frozenset(name for name, count in counts.items() if count >= enough)


def _dispatch(formats: Iterable[PrefixFormat]) -> tuple[dict[str, list[_Try]], list[_Try]]:
    """Sort the formats by the characters with which they may begin."""
    table: dict[str, list[_Try]] = {character: [] for character in _ASCII}
    other: list[_Try] = []
    for shape in formats:
        attempt: _Try = (re.compile(shape.pattern).match, shape)
        starts = re.compile(f"[{shape.starts}]") if shape.starts else None
        for character in _ASCII:
            if starts is None or starts.match(character):
                table[character].append(attempt)
        if starts is None:
            other.append(attempt)
    return table, other
