"""The literal text that a pattern cannot match without, so that a browser runs few regular expressions."""

from __future__ import annotations

import importlib
from typing import Any

_sre: Any = importlib.import_module("re._parser")  # the parser behind `re`; it has no public name
_SHORTEST = 3
_MOST = 40  # alternatives


def literals(pattern: str) -> tuple[str, ...]:
    """Return texts of which every match holds at least one; nothing where there are none of some length."""
    found = _required(_sre.parse(pattern))
    return tuple(sorted(found)) if found else ()


def _required(parsed: Any) -> frozenset[str] | None:
    candidates: list[frozenset[str]] = []
    run = ""
    for operator, argument in [*parsed, (None, None)]:
        name = str(operator)
        if name == "LITERAL":
            run += chr(argument)
            continue
        if len(run) >= _SHORTEST:
            candidates.append(frozenset({run}))
        if name == "AT":  # takes no characters: the run goes on
            continue
        run = ""
        inner = _inner(name, argument)
        if inner:
            candidates.append(inner)
    return max(candidates, key=_worth, default=None)


def _inner(name: str, argument: Any) -> frozenset[str] | None:
    if name == "SUBPATTERN":
        return _required(argument[3])
    if name == "MAX_REPEAT" and argument[0] >= 1:
        return _required(argument[2])
    if name == "BRANCH":
        branches = [_required(branch) for branch in argument[1]]
        if all(branches):
            joined = frozenset().union(*(branch for branch in branches if branch))
            return joined if len(joined) <= _MOST else None
    return None


def _worth(found: frozenset[str]) -> tuple[int, int]:
    shortest = min(map(len, found))
    return min(shortest, 12), -len(found)
