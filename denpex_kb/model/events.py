"""What a reader saw: matched lines with place, rank and time."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field

from denpex_kb.model.facts import Fact


class Origin(Struct, frozen=True):
    """A file (or the pasted text) and what its name says about whose output it is."""

    name: str  # as shown to the user
    rank: int | None = None
    local_rank: int | None = None
    host: str | None = None
    attempt: int | None = None
    kind: str = "log"  # log | config | flight


class Line(Struct):
    """One line of the input; rank, host and attempt may be filled in later, when all of the input was seen."""

    file: str
    number: int  # from 1
    text: str  # without launcher prefix and control sequences, clipped
    offset: int = 0
    rank: int | None = None
    local_rank: int | None = None
    task: int | None = None
    host: str | None = None
    pid: int | None = None
    device: int | None = None
    node: int | None = None  # the number of its node, where a prefix states it
    group_rank: int | None = None  # its rank inside one process group, which is the global one in the default group
    ip: str | None = None
    role: str | None = None  # what the prefix of a process names its kind
    attempt: int = 0
    time: str | None = None  # ISO 8601
    clock: float | None = None  # seconds, comparable within one input

    @property
    def place(self) -> str:
        """Where the line stands, as `file:line`."""
        return f"{self.file}:{self.number}"


class Match(Struct, frozen=True):
    """A pattern of the scan that matched, and the groups it captured."""

    pattern: int
    groups: tuple[str, ...] = ()


class Seen(Struct):
    """A line that at least one pattern matched."""

    line: Line
    matches: tuple[Match, ...]
    block: int = -1  # the traceback or stack that the line belongs to


class Reading(Struct):
    """Everything that was read from one file."""

    origin: Origin
    seen: list[Seen] = field(default_factory=list)
    progress: list[Seen] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    counts: dict[int, int] = field(
        default_factory=dict
    )  # pattern → how often it matched, repeats beyond the cap included
    lines: int = 0
    size: int = 0
    last: Line | None = None
    lasts: dict[tuple[str, int | str], Line] = field(default_factory=dict)  # the last line of each process, of the end
    times: list[tuple[int, float]] = field(default_factory=list)  # line and clock, of unmatched lines
    notes: list[str] = field(default_factory=list)
    ranks: set[int] = field(default_factory=set)

    def all_seen(self) -> Iterator[Seen]:
        """Go through matched lines and progress lines in the order of the file."""
        yield from sorted((*self.seen, *self.progress), key=lambda seen: seen.line.number)


Identity = tuple[str, int | str]


def identity(line: Line) -> Identity:
    """Return what tells the line's process from others: its rank, else its pid, else its place, else its file."""
    if line.rank is not None:
        return "rank", line.rank
    if line.pid is not None:
        return f"pid@{line.host or line.ip or ''}", line.pid
    if line.local_rank is not None:
        place = line.host or (line.task if line.task is not None else line.file)
        return f"local@{place}", line.local_rank
    if line.task is not None:
        return "task", line.task
    if line.host is not None:
        return f"host@{line.file}", line.host
    return "file", line.file
