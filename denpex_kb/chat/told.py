"""What a user told in a conversation, in order: everything else is worked out from this list, so undo is a pop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from denpex_kb.model.facts import FactValue

Shift = Mapping[str, float]  # entry id → how much an answer speaks for it, in log-odds


class Words(Struct, frozen=True):
    """A message in words; a line of a log among them is recognised as one."""

    text: str


class Paste(Struct, frozen=True):
    """A pasted log, stack dump or config."""

    name: str  # as the evidence cites it
    text: str
    key: str = ""  # the request that it answers
    file: str = ""  # the log and the line to which it belongs
    line: int = 0


class Quoted(Struct, frozen=True):
    """A single line of the run's output that was asked for, or that a message quotes beside a log."""

    text: str
    key: str = ""  # the request that it answers
    file: str = ""  # the log and the line to which it belongs
    line: int = 0


class Files(Struct, frozen=True):
    """Files and folders that were named or dragged in."""

    paths: tuple[Path, ...]
    key: str = ""  # the request that they answer


class Stated(Struct, frozen=True):
    """A fact that the user stated, as the answer to a question or of their own accord."""

    fact: str
    values: tuple[FactValue, ...]
    adds: bool = False  # a further value of a set, beside what is known
    shift: Shift = {}


class Sign(Struct, frozen=True):
    """A line that an entry's signature matches, as it is shown to the user."""

    entry: str
    name: str
    pattern: int  # its index in the rule set
    line: str
    where: str = "log"


class Signs(Struct, frozen=True):
    """The lines that the user was asked about, and those of them that they see."""

    shown: tuple[Sign, ...]
    seen: tuple[Sign, ...]
    shift: Shift = {}


class Fits(Struct, frozen=True):
    """The entries whose signs were shown, and those whose sign fits what the user sees."""

    key: str
    shown: tuple[str, ...]
    chosen: tuple[str, ...]
    shift: Shift = {}
    text: str = ""  # the sign that was chosen


class Passed(Struct, frozen=True):
    """A question that the user cannot answer."""

    key: str


Told = Words | Paste | Quoted | Files | Stated | Signs | Fits | Passed


def pastes(told: Sequence[Told]) -> dict[str, str]:
    """Return the pasted texts by name."""
    return {item.name: item.text for item in told if isinstance(item, Paste)}


def paths(told: Sequence[Told]) -> tuple[Path, ...]:
    """Return the named files and folders, each once."""
    return tuple(dict.fromkeys(path for item in told if isinstance(item, Files) for path in item.paths))


def asked(told: Sequence[Told]) -> frozenset[str]:
    """Return the keys of the questions that need not be asked again."""
    keys: set[str] = set()
    for item in told:
        if isinstance(item, Passed | Paste | Quoted | Files | Fits):
            keys.add(item.key)
        elif isinstance(item, Stated):
            keys.add(item.fact)
        elif isinstance(item, Signs):
            keys.update(sign_key(sign) for sign in item.shown)
    return frozenset(keys)


def handed_in(told: Sequence[Told]) -> frozenset[str]:
    """Return the keys of the requests that were met."""
    return frozenset(item.key for item in told if isinstance(item, Paste | Quoted | Files) and item.key)


def sign_key(sign: Sign) -> str:
    """Return the key under which a line counts as asked about."""
    return f"{sign.entry}/{sign.name}"


def unseen(told: Sequence[Told]) -> dict[str, int]:
    """Return of how many lines of each entry the user said that they do not see them."""
    return Counter(sign.entry for item in told if isinstance(item, Signs) and item.shift for sign in item.shown)


def unanswered(told: Sequence[Told]) -> int:
    """Return how many questions in a row, up to the last one, the user did not know."""
    count = 0
    for item in reversed(told):
        known = not isinstance(item, Passed) and not (isinstance(item, Signs | Fits) and not item.shift)
        if known or (isinstance(item, Signs) and item.seen):
            break
        count += 1
    return count
