"""The literal text that a pattern cannot match without: to look for it first is quick, in a scan and in a browser."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any

_sre: Any = importlib.import_module("re._parser")  # the parser behind `re`; it has no public name
_SHORTEST = 3
_MOST = 40  # alternatives


def literals(pattern: str, least: int = _SHORTEST, common: str = "") -> tuple[str, ...]:
    """Return texts of which every match holds at least one; nothing where there are none of that kind.

    Args:
        pattern: a regular expression of the common subset.
        least: characters that each text must have.
        common: text in which none of them may stand.
    """
    fitting = [found for found in _required(_sre.parse(pattern)) if _fits(found, least, common)]
    return tuple(sorted(max(fitting, key=_worth, default=())))


def wordings(pattern: str) -> list[str]:
    """Return the stretches of a pattern that are plain text, each alternative for itself."""
    return [text for text in _stretches(_sre.parse(pattern)) if len(text) >= _SHORTEST]


def _stretches(parsed: Any) -> Iterable[str]:
    run = ""
    for operator, argument in [*parsed, (None, None)]:
        name = str(operator)
        if name == "LITERAL":
            run += chr(argument)
            continue
        if name == "AT":
            continue
        yield run
        run = ""
        if name == "SUBPATTERN":
            yield from _stretches(argument[3])
        elif name == "MAX_REPEAT":
            yield from _stretches(argument[2])
        elif name == "BRANCH":
            for branch in argument[1]:
                yield from _stretches(branch)


def _fits(found: frozenset[str], least: int, common: str) -> bool:
    return all(len(text) >= least and not (common and text in common) for text in found)


def _required(parsed: Any) -> list[frozenset[str]]:
    """Return all sets of texts of which every match holds one."""
    candidates: list[frozenset[str]] = []
    run = ""
    for operator, argument in [*parsed, (None, None)]:
        name = str(operator)
        if name == "LITERAL":
            run += chr(argument)
            continue
        if name == "AT":  # takes no characters: the run goes on
            continue
        if len(run) >= _SHORTEST:
            candidates.append(frozenset({run}))
        run = ""
        candidates += _inner(name, argument)
    return candidates


def _inner(name: str, argument: Any) -> list[frozenset[str]]:
    if name == "SUBPATTERN":
        return _required(argument[3])
    if name == "MAX_REPEAT" and argument[0] >= 1:
        return _required(argument[2])
    if name == "BRANCH":
        branches = [max(_required(branch), key=_worth, default=None) for branch in argument[1]]
        if all(branches):
            joined = frozenset().union(*(branch for branch in branches if branch))
            return [joined] if len(joined) <= _MOST else []
    return []


def _worth(found: Iterable[str]) -> tuple[int, int]:
    texts = list(found)
    return min(map(len, texts)), -len(texts)
