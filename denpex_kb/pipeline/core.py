"""The traceback behind the first error, cut down to what tells; read again from the input where no entry names it."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import structs

from denpex_kb.model.diagnosis import Diagnosis, Frame, TracebackCore
from denpex_kb.model.display import one_line, printable
from denpex_kb.model.secrets import hide_secrets
from denpex_kb.read.files import part_chunks, read_chunks
from denpex_kb.read.prefixes import PrefixReader
from denpex_kb.read.text import CLIP, by_lines, clean, last_written, to_utf8
from denpex_kb.read.unfold import unfold_lines

_WINDOW = 600  # lines before the error in which its traceback begins
_INSIDE = "!/"  # between an archive and what is in it
_MOST_OWN = 8
_MOST_LIBRARY = 3
_FRAME = re.compile(r'^\s*File "([^"]{1,500})", line (\d{1,9})(?:, in (.{1,200}))?')
_LIBRARY = re.compile(r"/(?:site|dist)-packages/|/lib/python3[.\d]*/|^<|/conda/envs/[^/]+/lib/|\bimportlib\b")
_HEAD = "Traceback (most recent call last)"


def add_core(diagnosis: Diagnosis, lines: Sequence[str], reader: PrefixReader) -> Diagnosis:
    """Add the core of the first error's traceback, if the lines before it hold one.

    Args:
        diagnosis: a failure that no entry names.
        lines: the lines up to the error, the error last.
        reader: reads the launchers' prefixes.
    """
    error = diagnosis.first_error
    if error is None or not lines:
        return diagnosis
    core = traceback_core(lines, reader.sample(lines[-200:]))
    return structs.replace(diagnosis, core=core) if core is not None else diagnosis


def traceback_core(lines: Sequence[str], reader: PrefixReader) -> TracebackCore | None:
    """Cut the traceback that ends with the last line down to what tells."""
    lines = unfold_lines(lines, reader)
    texts: list[str] = []
    own_rank = reader.read(lines[-1]).rank
    for line in lines:
        prefix = reader.read(line)
        if own_rank is None or prefix.rank in (None, own_rank):
            texts.append(prefix.rest)
    frames: list[Frame] = []
    body = texts[_begin(texts) : -1]
    for number, text in enumerate(body):
        match = _FRAME.match(text)
        if match is None:
            continue
        code = body[number + 1].strip() if number + 1 < len(body) else ""
        code = "" if _FRAME.match(body[number + 1] if number + 1 < len(body) else "") else code
        frames.append(
            Frame(
                _shown(match.group(1)),
                int(match.group(2)),
                _shown(match.group(3) or ""),
                _shown(code)[:160],
                own=_LIBRARY.search(match.group(1)) is None,
            )
        )
    if not frames:
        return None
    kept = _telling(frames)
    return TracebackCore(_shown(texts[-1])[:400], tuple(kept), len(frames) - len(kept))


def _begin(texts: Sequence[str]) -> int:
    """Return where the traceback that ends with the last line begins: behind its head, or where its head is cut off."""
    heads = [number for number, text in enumerate(texts) if _HEAD in text]
    if heads:
        return heads[-1] + 1
    begin = len(texts) - 1
    while begin > 0 and texts[begin - 1][:1].isspace():
        begin -= 1
    return begin


def _telling(frames: Sequence[Frame]) -> list[Frame]:
    """Keep the user's last frames and the library frames in which it ended."""
    own = [number for number, frame in enumerate(frames) if frame.own][-_MOST_OWN:]
    library = [number for number, frame in enumerate(frames) if not frame.own]
    behind = [number for number in library if not own or number > own[-1]]
    kept = {*own, *behind[:1], *behind[-_MOST_LIBRARY + 1 :]} if own else set(library[-_MOST_LIBRARY:])
    return [frames[number] for number in sorted(kept)]


def _shown(text: str) -> str:
    return hide_secrets(printable(text))


def lines_before(chunks: Iterable[bytes], number: int) -> list[str]:
    """Return the lines that end with the one of that number (from 1), as the scan counts them."""
    kept: deque[bytes] = deque(maxlen=_WINDOW)
    line = 1
    for piece in by_lines(to_utf8(chunks)):
        cleaned = clean(piece)
        count = cleaned.count(b"\n")
        if line + count >= number - _WINDOW:
            for raw in cleaned.split(b"\n")[: count or 1]:
                if line > number:
                    break
                kept.append(raw)
                line += 1
        else:
            line += count
        if line > number:
            break
    return [last_written(raw)[: 4 * CLIP].decode("utf-8", "replace")[:CLIP] for raw in kept]


def place_of(name: str, paths: Sequence[Path]) -> Path | None:
    """Find the file that a diagnosis names among the paths that the user gave; of a member, its archive."""
    name = name.partition(_INSIDE)[0]
    for path in paths:
        for candidate in (path, path / name):
            if candidate.is_file() and (one_line(str(path)) == name or candidate != path):
                return candidate
    return None


def read_core(diagnosis: Diagnosis, paths: Sequence[Path], reader: PrefixReader) -> Diagnosis:
    """Add the core of the first error's traceback, read from the user's files."""
    error = diagnosis.first_error
    path = place_of(error.file, paths) if error is not None else None
    if error is None or path is None:
        return diagnosis
    _, inside, member = error.file.partition(_INSIDE)
    chunks = part_chunks(path, inside + member) if inside else read_chunks(path, [])
    return add_core(diagnosis, lines_before(chunks, error.line), reader)
