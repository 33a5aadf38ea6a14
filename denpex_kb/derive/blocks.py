"""Which lines belong to one traceback or one stack, and to one process."""

from __future__ import annotations

from collections.abc import Iterable

from denpex_kb.model.events import Identity, Reading, Seen, identity
from denpex_kb.model.rules import RuleSet


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
    number = 0
    for reading in readings:
        open_: dict[Identity, int] = {}
        process: int | None = None
        dump = False
        for seen in reading.seen:
            kinds = marks_of(seen, rules)
            if "stack" in kinds:
                dump = True
                process = _pid(seen, rules) or process
                number += 1
                open_ = {}
                seen.line.pid = seen.line.pid or process
                open_[identity(seen.line)] = number
                seen.block = number
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
    value = mark_values(seen, rules).get("pid", "")
    return int(value) if value.isdigit() else None
