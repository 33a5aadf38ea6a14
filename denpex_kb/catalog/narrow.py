"""What a scan looks for of a pattern that begins with what healthy logs are full of.

A pattern like `\\w*(total|train)\\w*loss …$` keeps an automaton busy on every line. A string that every match holds, or the
pattern without its weak beginning, finds the same lines and some more; Python confirms every match anyway.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable
from itertools import product
from typing import Any

_sre: Any = importlib.import_module("re._parser")  # the parser behind `re`; it has no public name

_MOST_VARIANTS = 24  # strings that stand for one pattern
_STRONG = 3  # telling characters with which a pattern begins, from which on it is left as it is
_TELLING = 6  # telling characters of a string that stands for a pattern
_LONGEST = 40
# What running jobs print all the time: it tells nothing.
_EVERYDAY = re.compile(
    r"(?i)train|step|loss|epoch|info|warn|rank|device|cuda|torch|python|packages|site|lib|line|file|time|data|model|load|"
    r"sav(?:e|ing)|checkpoint|global|batch|size|iteration|world|grad|norm|scale|\W|\d|_"
)
# A beginning that may be left out: an edge, a class that repeats, a class before one that repeats, any of several words
# in front of more letters.
_WEAK_START = re.compile(
    r"^(?:\\b|\[(?:[^\]\\]|\\.)+\](?=\[(?:[^\]\\]|\\.)+\][*+])|(?:\[(?:[^\]\\]|\\.)+\]|\\w|\\s)(?:[*+?]|\{0,\d+\})|\\\[\?|"
    r"\([a-z|]+\)\\w\*(?:\w\?)?)+"
)
# Lines that end in a number and a colon are rare.
_NUMBERED = re.compile(r"\\d(?:\+|\{\d+,\d+\})\)?:\$$")

# An escape, a class, a group (three deep), or one character; with its repeat.
_ATOM = r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]"
_GROUP = rf"\((?:{_ATOM}|[^()\[\]\\]|\((?:{_ATOM}|[^()\[\]\\]|\((?:{_ATOM}|[^()\[\]\\])*\))*\))*\)"
_PART = re.compile(rf"(?:{_ATOM}|{_GROUP}|.)(?:[*+?]|\{{\d*,?\d*\}})?", re.DOTALL)

_Set = frozenset[str]


def narrowed(text: str) -> str:
    """Return a pattern that matches wherever another one does, and keeps a scan less busy."""
    try:
        parsed = _sre.parse(text)
    except re.error:  # told elsewhere
        return text
    if min(map(_telling, _starts(parsed)), default=0) >= _STRONG:
        return text
    found = _best(parsed)
    if found is not None and found and min(map(_telling, found)) >= _TELLING:
        return "|".join(sorted(map(re.escape, found)))
    if _NUMBERED.search(text):
        return r"\d:$"
    shorter = _WEAK_START.sub("", text)
    left = shorter if shorter[:1].isalpha() or shorter.startswith(("(", "@")) else text
    return _from_what_tells(left) or left


def _from_what_tells(text: str) -> str | None:
    """Return the end of a pattern from its first part that tells something; None where no part but the first does."""
    if min(map(_telling, _starts(_sre.parse(text))), default=0) >= _STRONG:
        return None
    parts = _parts(text)
    for at in range(1, len(parts)):
        if parts[at - 1].isalnum() and parts[at][:1].isalnum():
            continue  # in the middle of a word
        rest = "".join(parts[at:])
        if min(map(_telling, _starts(_sre.parse(rest))), default=0) >= _STRONG:
            return rest
    return None


def _parts(text: str) -> list[str]:
    """Split a pattern into what follows one another in it, each part with its repeat; one with alternatives is whole."""
    parts: list[str] = []
    for match in _PART.finditer(text):
        if match.group() == "(":
            return [text]  # a group that is not closed
        parts.append(match.group())
    return parts if "|" not in parts else [text]


def _telling(text: str) -> int:
    return len(_EVERYDAY.sub("", text))


def _starts(parsed: Iterable[Any]) -> _Set:
    """Return the strings with which matches begin, as far as these are stated."""
    run = frozenset(("",))
    for operator, argument in parsed:
        exact = _exact(str(operator), argument)
        if exact is not None and len(run) * len(exact) <= _MOST_VARIANTS:
            run = frozenset(map("".join, product(run, exact)))
            continue
        if run == {""} and str(operator) == "SUBPATTERN":
            return _starts(argument[3])
        if run == {""} and str(operator) == "BRANCH":
            return frozenset().union(*map(_starts, argument[1]))
        break
    return run


def _best(parsed: Iterable[Any]) -> _Set | None:
    """Return the most telling set of strings of which every match holds at least one."""
    candidates: list[_Set] = []
    run: list[_Set] = []  # of strings that follow one another directly
    size = 1

    def close() -> None:
        if run:
            candidates.append(frozenset(map("".join, product(*run))))
            run.clear()

    for operator, argument in parsed:
        exact = _exact(str(operator), argument)
        if exact is not None:
            if size * len(exact) > _MOST_VARIANTS:
                close()
                size = 1
            run.append(exact)
            size *= len(exact)
            continue
        close()
        size = 1
        inner = _inside(str(operator), argument)
        if inner is not None:
            candidates.append(inner)
    close()
    held = [_shortened(item) for item in candidates if 0 < len(item) <= _MOST_VARIANTS]
    return max(held, key=lambda item: (min(map(_telling, item)), -len(item), sorted(item)), default=None)


def _inside(operator: str, argument: Any) -> _Set | None:
    if operator == "SUBPATTERN":
        return _best(argument[3])
    if operator == "MAX_REPEAT" and argument[0] >= 1:
        return _best(argument[2])
    if operator == "BRANCH":
        branches = [_best(branch) for branch in argument[1]]
        if all(branches):
            return frozenset().union(*(branch for branch in branches if branch is not None))
    return None


def _exact(operator: str, argument: Any) -> _Set | None:
    """Return all strings that a part can be, where these are few."""
    if operator == "LITERAL":
        return frozenset((chr(argument),))
    if operator == "IN" and len(argument) <= 4 and all(str(kind) == "LITERAL" for kind, _ in argument):
        return frozenset(chr(value) for _, value in argument)
    if operator == "SUBPATTERN":
        return _exact_sequence(argument[3])
    if operator == "BRANCH":
        branches = [_exact_sequence(branch) for branch in argument[1]]
        if all(branch is not None for branch in branches):
            found = frozenset().union(*(branch for branch in branches if branch is not None))
            return found if len(found) <= _MOST_VARIANTS else None
    if operator == "MAX_REPEAT" and argument[:2] == (0, 1):
        inner = _exact_sequence(argument[2])
        return inner | {""} if inner is not None and len(inner) < _MOST_VARIANTS else None
    return None


def _exact_sequence(parsed: Iterable[Any]) -> _Set | None:
    found = frozenset(("",))
    for operator, argument in parsed:
        exact = _exact(str(operator), argument)
        if exact is None or len(found) * len(exact) > _MOST_VARIANTS:
            return None
        found = frozenset(map("".join, product(found, exact)))
    return found


def _shortened(strings: _Set) -> _Set:
    """Cut long strings, and leave out those that hold another one."""
    cut = {text[:_LONGEST] for text in strings}
    return frozenset(text for text in cut if not any(other != text and other in text for other in cut))
