"""Patterns in the common subset of Hyperscan, Python `re` and JavaScript."""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
from collections.abc import Iterable
from typing import Any

import hyperscan
import msgspec

from denpex_kb.catalog.literals import literals
from denpex_kb.catalog.narrow import narrowed

_sre: Any = importlib.import_module("re._parser")  # the parser behind `re`; it has no public name

_FORBIDDEN = (
    (re.compile(r"\(\?(?!:)"), "`(?…)` other than `(?:…)`: no look-around, named groups or inline flags"),
    (re.compile(r"(?<!\\)(?:[*+?]|\{\d*,?\d*\})[?+]"), "a lazy or possessive repeat; use a plain one"),
    (re.compile(r"(?<!\\)(?:\\\\)*\\[1-9]"), "a back-reference"),
    (re.compile(r"(?<!\\)(?:\\\\)*\\[AZzGKXRHhVNpPQELUlux]"), "an escape that the three engines read differently"),
)
_MIN_LITERAL = 4
_RARE = 10  # characters from which on a literal text is taken in place of its pattern
_UNBOUNDED = 1000


def faults(pattern: str, *, scanned: bool = True) -> list[str]:
    """Say what is wrong with a pattern; nothing when it is in the common subset.

    Args:
        pattern: a regular expression.
        scanned: whether all of the input is scanned for it, and not only lines that another pattern matched.
    """
    found = [f"the pattern uses {what}" for shape, what in _FORBIDDEN if shape.search(_without_classes(pattern))]
    try:
        parsed = _sre.parse(pattern)
    except re.error as error:
        return [*found, f"the pattern is malformed: {error}"]
    if scanned and _longest_literal(parsed) < _MIN_LITERAL:
        found.append(f"the pattern holds no {_MIN_LITERAL} literal characters in a row; name more of the message")
    if _has_wild_repeat(parsed):
        found.append("the pattern uses `.*` or `.+`; bound it, e.g. `.{0,200}`")
    if len(parsed) and _ends_unbounded(parsed):
        found.append("the pattern ends in an unbounded repeat, which matches many times; drop it or bound it")
    try:
        hyperscan_check(pattern)
    except hyperscan.error as error:
        found.append(f"Hyperscan refuses the pattern: {error}")
    return found


def for_hyperscan(pattern: str, common: str = "") -> bytes:
    """Write a pattern for the scan of the whole input; Python confirms every match.

    The literal texts that a match must hold are enough where they are long and rare: they compile several times as
    fast as the pattern, and bring hardly more lines.

    Args:
        pattern: a regular expression of the common subset.
        common: text that healthy runs print all the time.
    """
    needed = literals(pattern, _RARE, common)
    if needed and all(map(str.isascii, needed)):
        return "|".join(map(re.escape, needed)).encode()
    return narrowed(_uncounted(pattern).decode()).encode()


def _uncounted(pattern: str) -> bytes:
    """Write the pattern itself for Hyperscan, which sees whole lines, launcher prefixes included.

    A leading `^` stands for the start of the message behind the prefix; only Python can check it. Bounded repeats
    become unbounded ones, since counting makes the database slow to compile.
    """
    text = pattern.removeprefix("^")

    def unbounded(match: re.Match[str]) -> str:
        if not text[match.end() :].strip(")$"):
            return match.group(0)  # at the end it would match once more for every character
        return f"{match.group(1)}{'*' if match.group(2) == '0' else '+'}"

    return _COUNTED.sub(unbounded, text).encode()


# `.`, a class without line feed, or an escape that takes none, with a bounded repeat of some length
_COUNTED = re.compile(r"((?<!\\)\.|\\[Swd]|(?<!\\)\[(?!\^)(?:\\.|[^\]\\])+\])\{([01]),\d{2,4}\}")
FLAGS = hyperscan.HS_FLAG_MULTILINE | hyperscan.HS_FLAG_ALLOWEMPTY


_compiled: dict[str, tuple[hyperscan.Database, int]] = {}  # pattern → where it was compiled, and its id there


def compile_together(expressions: Iterable[str]) -> None:
    """Compile many patterns in one go, which makes the checks of each cheap.

    Where Hyperscan refuses one of them nothing is kept, and `faults` finds out which.
    """
    wanted = [pattern for pattern in dict.fromkeys(expressions) if pattern not in _compiled]
    try:
        compiled = [_uncounted(pattern) for pattern in wanted]
        database = hyperscan.Database()
        database.compile(expressions=compiled, ids=list(range(len(wanted))), flags=[FLAGS] * len(wanted))
    except (hyperscan.error, ValueError):
        return
    _compiled.update({pattern: (database, number) for number, pattern in enumerate(wanted)})


def hyperscan_check(pattern: str) -> None:
    """Compile a pattern alone, unless it is compiled.

    Raises:
        hyperscan.error: Hyperscan does not take it.
    """
    if pattern not in _compiled:
        database = hyperscan.Database()
        database.compile(expressions=[_uncounted(pattern)], ids=[0], flags=[FLAGS])
        _compiled[pattern] = (database, 0)


def hyperscan_matches(pattern: str, line: str) -> bool:
    """Say whether Hyperscan finds the pattern in a line."""
    hyperscan_check(pattern)
    database, wanted = _compiled[pattern]
    hits: list[int] = []
    database.scan(line.encode(), match_event_handler=lambda number, *_: hits.append(number))
    return wanted in hits


def javascript_mismatches(pairs: Iterable[tuple[str, str]]) -> list[int] | None:
    """Return the indices of (pattern, line) pairs that do not match in JavaScript; None without Node.js at hand."""
    node = shutil.which("node")
    if node is None:
        return None
    program = (
        "const p=JSON.parse(require('fs').readFileSync(0,'utf8'));const bad=[];"
        "p.forEach(([r,l],i)=>{try{if(!new RegExp(r,'m').test(l))bad.push(i)}catch(e){bad.push(i)}});"
        "console.log(JSON.stringify(bad))"
    )
    done = subprocess.run(
        [node, "-e", program], input=msgspec.json.encode(list(pairs)), capture_output=True, check=False, timeout=60
    )
    return msgspec.json.decode(done.stdout, type=list[int]) if done.returncode == 0 else None


def _without_classes(pattern: str) -> str:
    return re.sub(r"(?<!\\)\[\^?\]?(?:\\.|[^\]\\])*\]", "c", pattern)


def _longest_literal(parsed: Any) -> int:
    best = run = 0
    for operator, argument in parsed:
        name = str(operator)
        if name == "LITERAL":
            run += 1
            best = max(best, run)
            continue
        if name == "AT":
            continue
        run = 0
        if name == "SUBPATTERN":
            best = max(best, _longest_literal(argument[3]))
        elif name == "BRANCH":
            # every way through must hold a literal
            best = max(best, min(_longest_literal(branch) for branch in argument[1]))
        elif name == "MAX_REPEAT" and argument[0] >= 1:
            best = max(best, _longest_literal(argument[2]))
    return best


def _has_wild_repeat(parsed: Any) -> bool:
    for operator, argument in parsed:
        name = str(operator)
        if name == "MAX_REPEAT":
            inner = [str(inner_operator) for inner_operator, _ in argument[2]]
            if int(argument[1]) > _UNBOUNDED and inner == ["ANY"]:
                return True
            if _has_wild_repeat(argument[2]):
                return True
        elif (name == "SUBPATTERN" and _has_wild_repeat(argument[3])) or (
            name == "BRANCH" and any(_has_wild_repeat(branch) for branch in argument[1])
        ):
            return True
    return False


def _ends_unbounded(parsed: Any) -> bool:
    operator, argument = parsed[len(parsed) - 1]
    name = str(operator)
    if name == "MAX_REPEAT":
        return int(argument[1]) > _UNBOUNDED and not _is_digits(argument[2])
    if name == "SUBPATTERN":
        return bool(len(argument[3])) and _ends_unbounded(argument[3])
    if name == "BRANCH":
        return any(len(branch) > 0 and _ends_unbounded(branch) for branch in argument[1])
    return False


def _is_digits(parsed: Any) -> bool:
    """A run of digits is short in practice, and a number is what many messages end in."""
    return len(parsed) == 1 and str(parsed[0]) in (
        "(IN, [(CATEGORY, CATEGORY_DIGIT)])",
        "(IN, [(RANGE, (48, 57))])",
    )
