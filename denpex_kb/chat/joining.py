"""A pasted part of a log, put back to where it belongs, so that the whole is read as if it had been given at once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path

from msgspec import Struct

from denpex_kb.chat.told import Paste, Quoted, Told
from denpex_kb.errors import InputError
from denpex_kb.read.files import collect

_MOST = 4 << 20  # bytes of a log that is put together anew; in a larger one the pasted part is read beside it
_AROUND = 300  # lines before and after the place that are compared
_LEAST = 2  # lines that must be the same
_MOST_LINES = 2000  # of a paste that is compared
_MOST_OF_END = 30  # lines
_EXCEPTION = re.compile(r"(?:\[\w:.-]+\]:?\s*)?(?:\w+\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Warning)\b:?")
MARK = " + your paste"  # behind the name of such a log: its lines are counted with the pasted ones


class Joined(Struct, frozen=True):
    """The texts to read, and the files that they take the place of."""

    texts: dict[str, str]
    instead: frozenset[str]  # names of files
    placed: tuple[Told, ...]  # what was put into another text


def join(told: Sequence[Told], texts: Mapping[str, str], files: Sequence[Path]) -> Joined:
    """Put every pasted part into the log that it was asked for.

    Args:
        told: what was told.
        texts: all pasted texts by name.
        files: the files and folders that were named.
    """
    texts = dict(texts)
    on_disk = {item.name: item.path for item in collect(files)[0]} if files and _any_part(told) else {}
    instead: set[str] = set()
    placed: list[Told] = []
    for item in told:
        if not isinstance(item, Paste | Quoted) or not item.file:
            continue
        name = item.file + MARK if item.file + MARK in texts else item.file
        whole = texts[name] if name in texts else _read(on_disk.get(name))
        done = _put(whole, item.text, item.line) if whole is not None else None
        if done is None:
            continue
        texts.pop(name, None)
        if isinstance(item, Paste):
            texts.pop(item.name, None)
        if name in on_disk:
            instead.add(name)
        texts[name.removesuffix(MARK) + MARK] = done
        placed.append(item)
    return Joined(texts, frozenset(instead), tuple(placed))


def _any_part(told: Sequence[Told]) -> bool:
    return any(isinstance(item, Paste | Quoted) and item.file for item in told)


def _read(path: Path | None) -> str | None:
    try:
        if path is None or path.stat().st_size > _MOST:
            return None
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be opened: {error.strerror}") from error
    return None if b"\0" in data else data.decode("utf-8", "replace")


def _put(whole: str, part: str, line: int) -> str | None:
    """Return the text with the lines of a part at their place; None where the place cannot be told."""
    lines, new = whole.split("\n"), part.strip("\n").split("\n")
    if len(new) > _MOST_LINES or not 0 < line <= len(lines):
        return None
    if len(new) == 1:
        return _behind(lines, [new[0].strip()], line)
    low, high = max(0, line - _AROUND), min(len(lines), line + _AROUND)
    old = [item.rstrip() for item in lines[low:high]]
    compared = SequenceMatcher(None, old, [item.rstrip() for item in new], autojunk=False)
    if sum(block.size for block in compared.get_matching_blocks()) < _LEAST:
        return _behind(lines, new, line) if is_end(part) else None
    merged: list[str] = []
    for what, i1, i2, j1, j2 in compared.get_opcodes():
        merged += lines[low + i1 : low + i2]
        if what != "equal":
            merged += new[j1:j2]
    return "\n".join([*lines[:low], *merged, *lines[high:]])


def is_end(text: str) -> bool:
    """Say whether a text is no more than the end of a traceback: the exception and its message."""
    first, *more = text.strip("\n").split("\n")
    return len(more) < _MOST_OF_END and _EXCEPTION.match(first.strip()) is not None


def _behind(lines: Sequence[str], new: Sequence[str], line: int) -> str:
    """Return the text with lines behind the frames of the traceback that begins in a line."""
    end = line
    while end < len(lines) and _indented(lines[end]):
        end += 1
    prefix = _prefix(lines[line - 1])
    return "\n".join(
        [*lines[:end], *(item if item.startswith(prefix) else prefix + item for item in new), *lines[end:]]
    )


def _indented(line: str) -> bool:
    """Say whether a line belongs to the frames of a traceback, behind whatever stands in front of every line."""
    text = line.partition("]: ")[2] if line.startswith("[") and "]: " in line else line
    return text.startswith((" ", "\t"))


def _prefix(head: str) -> str:
    """Return what stands in front of a traceback's first line."""
    return head[: max(0, head.find("Traceback"))]
