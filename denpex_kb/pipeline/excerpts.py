"""The lines around those that a diagnosis names, read again from the input."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from denpex_kb.model.display import Excerpt
from denpex_kb.model.secrets import hide_secrets
from denpex_kb.pipeline.core import place_of
from denpex_kb.read.files import read_chunks
from denpex_kb.read.text import by_lines, clean, last_written, to_utf8

BEFORE, AFTER = 4, 2
_CLIP = 600  # characters of a line
_MOST_BYTES = 256 << 20  # that are read again, of all files together

Place = tuple[str, int]  # file and line, from 1


def read_excerpts(places: Iterable[Place], paths: Sequence[Path]) -> dict[Place, Excerpt]:
    """Return the lines around each place, as far as the files are there and can be read in a moment.

    Args:
        places: file and line, as a diagnosis names them.
        paths: what the user gave.
    """
    by_file: dict[str, list[int]] = defaultdict(list)
    for file, line in places:
        by_file[file].append(line)
    found: dict[Place, Excerpt] = {}
    left = _MOST_BYTES
    for file, lines in by_file.items():
        path = place_of(file, paths)
        if path is None:
            continue
        wanted = {number for line in lines for number in range(max(1, line - BEFORE), line + AFTER + 1)}
        texts, read = _lines(path, wanted, left)
        left -= read
        for line in lines:
            near = [number for number in range(line - BEFORE, line + AFTER + 1) if number in texts]
            if line in texts:
                found[file, line] = Excerpt(near[0], tuple(texts[number] for number in near))
    return found


def _lines(path: Path, wanted: set[int], most: int) -> tuple[dict[int, str], int]:
    """Return some lines of a file, counted as the scan counts them, and how many bytes were read for them."""
    texts: dict[int, str] = {}
    last, number, read = max(wanted), 1, 0
    for piece in by_lines(to_utf8(_bounded(read_chunks(path, []), most))):
        cleaned = clean(piece)
        count = cleaned.count(b"\n")
        read += len(piece)
        if any(line in wanted for line in range(number, number + max(count, 1))):
            for offset, raw in enumerate(cleaned.split(b"\n")[: count or 1]):
                if number + offset in wanted:
                    text = last_written(raw)[: 4 * _CLIP].decode("utf-8", "replace")
                    texts[number + offset] = hide_secrets(text[:_CLIP] + ("…" if len(text) > _CLIP else ""))
        number += count
        if number > last:
            break
    return texts, read


def _bounded(chunks: Iterable[bytes], most: int) -> Iterator[bytes]:
    for chunk in chunks:
        if most <= 0:
            return
        most -= len(chunk)
        yield chunk
