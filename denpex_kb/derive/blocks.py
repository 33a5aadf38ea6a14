"""Which lines belong to one traceback or one stack, and to one process."""

from __future__ import annotations

from collections.abc import Iterable

from denpex_kb.model.events import Line, Reading, Seen
from denpex_kb.model.rules import RuleSet

Identity = tuple[str, int | str]


def identity(line: Line) -> Identity:
    """Return what tells the line's process from others: its rank, else its pid, else its file."""
    if line.rank is not None:
        return "rank", line.rank
    if line.pid is not None:
        return "pid", line.pid
    if line.local_rank is not None:
        return f"local@{line.host or line.file}", line.local_rank
    return "file", line.file


def group_blocks(readings: Iterable[Reading], rules: RuleSet) -> None:
    """Number the tracebacks and stacks; lines outside of any keep -1.

    Lines of several ranks may be interleaved: each rank has its own open block. A dump's header states whose frames
    follow, up to the next header.
    """
    number = 0
    for reading in readings:
        open_: dict[Identity, int] = {}
        process: int | None = None
        dump = False
        for seen in reading.seen:
            kinds = {rules.patterns[match.pattern].name for match in seen.matches if rules.patterns[match.pattern].target == "mark"}
            if "stack" in kinds:
                dump = True
                pid = _pid(seen, rules)
                if pid is not None:
                    process = pid
                number += 1
                open_ = {}
                current = number
                seen.line.pid = seen.line.pid or process
                open_[identity(seen.line)] = current
                seen.block = current
                continue
            if dump and process is not None and seen.line.pid is None:
                seen.line.pid = process
            who = identity(seen.line)
            if "traceback" in kinds:
                number += 1
                open_[who] = number
            seen.block = open_.get(who, -1)
            if "exception" in kinds and not dump:
                open_.pop(who, None)


def _pid(seen: Seen, rules: RuleSet) -> int | None:
    for match in seen.matches:
        gives = rules.patterns[match.pattern].gives
        if "pid" in gives:
            value = match.groups[gives.index("pid")]
            return int(value) if value.isdigit() else None
    return None
