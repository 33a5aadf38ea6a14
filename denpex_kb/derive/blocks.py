"""Which lines belong to one traceback or one stack, and to one process."""

from __future__ import annotations

from collections.abc import Iterable

from denpex_kb.model.events import Identity, Line, Match, Reading, Seen, identity
from denpex_kb.model.rules import RuleSet

QUOTED = "quoted"  # the role of a process whose traceback a driver prints
_LONGEST_IGNORED = 60  # lines from the head of an ignored traceback to its exception
_AT_ONCE, _AT_ONCE_AMONG_OTHERS = (
    3,
    12,
)  # lines within which an ignored traceback begins, on an output of one or of many


def marks_of(seen: Seen, rules: RuleSet) -> frozenset[str]:
    """Return the kinds of mark that a line carries."""
    return frozenset(
        rules.patterns[match.pattern].name for match in seen.matches if rules.patterns[match.pattern].target == "mark"
    )


def mark_values(seen: Seen, rules: RuleSet) -> dict[str, str]:
    """Return what the marks of a line state, by name."""
    values: dict[str, str] = {}
    for match in seen.matches:
        pattern = rules.patterns[match.pattern]
        if pattern.target == "mark":
            for name, group in zip(pattern.gives, match.groups, strict=False):
                if group:
                    values.setdefault(name, group)
    return values


def group_blocks(readings: Iterable[Reading], rules: RuleSet) -> None:
    """Number the tracebacks and stacks; lines outside of any keep -1.

    Lines of several ranks may be interleaved: each rank has its own open block. A dump's header states whose frames
    follow, up to the next header.
    """
    blocks = _Blocks()
    for reading in readings:
        blocks.begin_file()
        process: int | None = None
        quoted: tuple[int, int, str | None] | None = None  # block, process, address: of another's traceback
        dump = False
        for seen in reading.seen:
            kinds = marks_of(seen, rules)
            if "stack" in kinds:
                dump = True
                process = _pid(seen, rules) or process
                seen.line.pid = seen.line.pid or process
                seen.block = blocks.begin_stack(identity(seen.line))
                continue
            if dump and process is not None and seen.line.pid is None:
                seen.line.pid = process
            who = identity(seen.line)
            seen.block = blocks.take(who, kinds, dump=dump)
            if quoted is not None and seen.block == quoted[0] and seen.line.rank is None and seen.line.pid is None:
                _of_quoted(seen.line, quoted[1], quoted[2])
            stated = mark_values(seen, rules) if "chained" in kinds else {}
            if "quoted_pid" in stated and seen.line.rank is None and seen.line.pid is None:
                quoted = (seen.block, int(stated["quoted_pid"]), stated.get("quoted_ip"))
            if blocks.unheeded(who, kinds, seen.line.number):
                seen.matches = tuple(item for item in seen.matches if not _raises(item, rules))


def _of_quoted(line: Line, pid: int, ip: str | None) -> None:
    """Give a line of a traceback that a driver quotes to the process that raised it."""
    line.pid, line.ip, line.role = pid, ip, QUOTED


class _Blocks:
    """The open block of each process of a file, and the last one that it closed."""

    def __init__(self) -> None:
        self._number = 0
        self.begin_file()

    def begin_file(self) -> None:
        """Forget the blocks of the file before."""
        self._open: dict[Identity, int] = {}
        self._closed: dict[Identity, int] = {}
        # where the interpreter said that it ignores what follows, and whether a traceback has begun since
        self._ignored: dict[Identity, tuple[int, bool]] = {}
        self._joined: set[Identity] = set()  # processes whose next traceback belongs to the one above it

    def begin_stack(self, who: Identity) -> int:
        """Open a block of a dump, which ends those of all others."""
        self._number += 1
        self._open = {who: self._number}
        return self._number

    def take(self, who: Identity, kinds: frozenset[str], *, dump: bool) -> int:
        """Return the block of the next line of a process, -1 outside of any.

        The parts of a chain of tracebacks are one block. A frame opens a block too: of a traceback whose head was cut
        off, or whose last line quotes the traceback of another process.
        """
        if "chained" in kinds:
            self._join(who, quotes="exception" in kinds)
        elif "traceback" in kinds and who in self._joined:
            self._joined.discard(who)
        elif "traceback" in kinds or ("frame" in kinds and who not in self._open):
            self._joined.discard(who)
            self._number += 1
            self._open[who] = self._number
        block = self._open.get(who, -1)
        if block >= 0 and "exception" in kinds and "chained" not in kinds and not dump:
            self._closed[who] = self._open.pop(who)
        return block

    def unheeded(self, who: Identity, kinds: frozenset[str], number: int) -> bool:
        """Say whether a line ends a traceback that the interpreter only reports: of a finaliser or a callback.

        That traceback follows at once; what a process raises some lines later is another one.
        """
        if "ignored" in kinds:
            self._ignored[who] = (number, False)
        begun, headed = self._ignored.get(who, (None, False))
        if begun is None:
            return False
        near = number - begun <= (_AT_ONCE if who[0] == "file" or who[0].startswith("host@") else _AT_ONCE_AMONG_OTHERS)
        if "traceback" in kinds and not headed:
            if near:
                self._ignored[who] = (number, True)
            else:
                del self._ignored[who]
        if "exception" not in kinds:
            return False
        begun, headed = self._ignored.pop(who, (None, False))
        return begun is not None and (number - begun <= _LONGEST_IGNORED if headed else near)

    def _join(self, who: Identity, *, quotes: bool) -> None:
        """Go on with the block of the line above; a quoted traceback never belongs to one that has ended."""
        if who not in self._open:
            if quotes or who not in self._closed:
                self._number += 1
                self._open[who] = self._number
            else:
                self._open[who] = self._closed[who]
        if not quotes:
            self._joined.add(who)


def _raises(item: Match, rules: RuleSet) -> bool:
    pattern = rules.patterns[item.pattern]
    return pattern.target == "mark" and pattern.name == "exception"


def _pid(seen: Seen, rules: RuleSet) -> int | None:
    value = mark_values(seen, rules).get("pid", "")
    return int(value) if value.isdigit() else None
