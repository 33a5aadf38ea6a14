"""A message that a terminal, a mail or a form broke at its width → the message in one line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

MOST_LINES = 6
MOST_TEXT = 1200
NARROWEST = 40  # characters; a shorter line was ended by its writer
_OTHER = re.compile(
    r"^(?:\s|$|Traceback |The above exception|During handling|\[(?:\d|rank|default|[A-Z]{4,8}\]|[EWIF] ?\d)|"
    r"\(\w+ pid=|\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|(?:DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL|File)\b|"
    r"[=\-*#─╭╰│+~]{3}|[A-Za-z_][\w.]{0,160}(?:Error|Exception|Warning|Interrupt)\b|[A-Z]\d{4} \d\d:)"
)


def wrapped_parts(first: str, following: Iterable[str]) -> tuple[str, ...]:
    """Return the lines of a message, the first in front; only that one where no other continues it.

    Args:
        first: the line that begins the message, without its prefix.
        following: the lines below it, likewise.
    """
    parts, size = [first.rstrip()], len(first)
    if len(parts[0]) < NARROWEST and not parts[0].endswith(":"):  # a long word begins a line of its own
        return tuple(parts)
    for text in following:
        size += len(text) + 1
        if _OTHER.match(text) or size > MOST_TEXT:
            break
        parts.append(text.rstrip())
        if len(parts) > MOST_LINES or len(parts[-1]) < NARROWEST:
            break
    return tuple(parts)


def joined(parts: Sequence[str]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Join a message's lines, and say where they meet; once as words are wrapped, once as a terminal cuts."""
    yield _join(parts, [not part.endswith(("-", "/")) for part in parts])
    widths = {len(part) for part in parts[1:-1]}
    # the first one may have lost a prefix that the others do not have
    if not widths or (len(widths) == 1 and len(parts[0]) <= max(widths)):
        yield _join(parts, [False] * len(parts))


def _join(parts: Sequence[str], spaced: Sequence[bool]) -> tuple[str, tuple[int, ...]]:
    text, seams = parts[0], []
    for part, space in zip(parts[1:], spaced, strict=False):
        seams.append(len(text))
        text += f" {part}" if space else part
    return text, tuple(seams)


def crosses(span: tuple[int, int], seams: Iterable[int]) -> bool:
    """Say whether a match needs the lines joined."""
    return any(span[0] < seam < span[1] for seam in seams)
