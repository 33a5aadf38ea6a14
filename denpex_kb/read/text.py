"""Bytes of any encoding → clean lines: no control sequences, UTF-8, carriage returns resolved."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import hyperscan

HEAD = b"Traceback (most recent call last)"
CLIP = 4000  # characters of one line that are looked at by Python
# CSI and OSC sequences, two-character escapes
_ANSI = re.compile(rb"\x1b(?:\[[0-?]{0,64}[ -/]{0,16}[@-~]|\][^\x07\x1b\n]{0,512}(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_CONTROL_BYTES = bytes(code for code in range(256) if _CONTROLS.match(bytes([code])))
_ODD = bytes(code for code in range(32) if code < 9 or 13 < code < 27 or code > 27)  # ESC begins colours
_LARGE = 64 << 10  # bytes from which on another engine than `re` looks for control characters
_PIECE = 256 << 10  # bytes that are worth a look of their own


def clean(chunk: bytes) -> bytes:
    """Remove escape sequences and control characters; line feeds stay where they were."""
    if b"\x1b" in chunk:
        chunk = _ANSI.sub(b"", chunk)
    if _has_windows_ends(chunk):
        chunk = chunk.replace(b"\r\n", b"\n")
    return chunk.translate(None, _CONTROL_BYTES) if _has_controls(chunk) else chunk


def _has_windows_ends(chunk: bytes) -> bool:
    """Say whether lines end in CR LF; carriage returns are looked for first, of which most logs hold few."""
    at = chunk.find(b"\r")
    for _ in range(100):
        if at < 0:
            return False
        if chunk[at + 1 : at + 2] == b"\n":
            return True
        at = chunk.find(b"\r", at + 1)
    return b"\r\n" in chunk


def _has_controls(chunk: bytes) -> bool:
    """Say whether a chunk holds a control character: `re` takes longer over that than the scan for all patterns."""
    return _CONTROLS.search(chunk) is not None if len(chunk) < _LARGE else _found(_CONTROLS.pattern, chunk)


def holds_traceback(chunk: bytes) -> bool:
    """Say whether a chunk holds the head of a Python traceback."""
    return HEAD in chunk if len(chunk) < _LARGE else _found(re.escape(HEAD), chunk)


def _found(pattern: bytes, chunk: bytes) -> bool:
    found: list[int] = []
    database, scratch = _database_of(pattern)
    database.scan(chunk, match_event_handler=lambda index, *_: found.append(index), scratch=scratch.clone())
    return bool(found)


@cache
def _database_of(pattern: bytes) -> tuple[hyperscan.Database, hyperscan.Scratch]:
    import hyperscan  # nothing small needs it

    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(expressions=[pattern], ids=[0], flags=[hyperscan.HS_FLAG_SINGLEMATCH])
    return database, hyperscan.Scratch(database)


def last_written(line: bytes) -> bytes:
    """Return what a terminal would show of a line with carriage returns."""
    return line.rstrip(b"\r").rsplit(b"\r", 1)[-1] if b"\r" in line else line


def encoding_of(head: bytes) -> str:
    """Guess the encoding of a file by its first bytes: a byte order mark, or the zeros of UTF-16."""
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    sample = head[:512]
    if len(sample) >= 8:
        odd, even = sample[1::2].count(0), sample[0::2].count(0)
        half = len(sample) // 2
        if odd > 0.6 * half and even < 0.1 * half:
            return "utf-16-le"
        if even > 0.6 * half and odd < 0.1 * half:
            return "utf-16-be"
    return "utf-8"


def is_binary(head: bytes) -> bool:
    """Say whether the first bytes are no text in any encoding that is read."""
    if encoding_of(head) != "utf-8" or not head:
        return False
    sample = head[:4096]
    odd = len(sample) - len(sample.translate(None, _ODD))
    broken = sample.decode("utf-8", "replace").count("\N{REPLACEMENT CHARACTER}")
    return odd > 0.1 * len(sample) or (odd > 0.02 * len(sample) and broken > 0.2 * len(sample))


class ToUtf8:
    """Turns a stream of any known encoding into UTF-8; broken bytes are kept, later decoding marks them."""

    def __init__(self) -> None:
        """Begin: the first chunk tells the encoding."""
        self._begun = False
        self._decoder: codecs.IncrementalDecoder | None = None

    def feed(self, chunk: bytes, *, final: bool = False) -> bytes:
        """Turn the next chunk."""
        if not self._begun and chunk:
            self._begun = True
            encoding = encoding_of(chunk)
            if encoding == "utf-8":
                return chunk.removeprefix(codecs.BOM_UTF8)
            self._decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
        return chunk if self._decoder is None else self._decoder.decode(chunk, final).encode("utf-8", "replace")


def to_utf8(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Turn a stream of any known encoding into UTF-8."""
    turn = ToUtf8()
    for chunk in chunks:
        yield turn.feed(chunk)
    if rest := turn.feed(b"", final=True):
        yield rest


def by_lines(chunks: Iterable[bytes], limit: int = 8 << 20) -> Iterator[bytes]:
    """Regroup a stream into pieces that end at a line feed.

    A line longer than `limit` bytes is cut there, so that memory stays flat; small chunks are put together.
    """
    held: list[bytes] = []
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size < _PIECE:
            held.append(chunk)
            continue
        end = chunk.rfind(b"\n") + 1
        if end:
            yield b"".join((*held, memoryview(chunk)[:end]))
            held, size = [chunk[end:]], len(chunk) - end
        elif size > limit:
            yield b"".join((*held, chunk))
            held, size = [], 0
        else:
            held.append(chunk)
    if size:
        yield b"".join(held)
