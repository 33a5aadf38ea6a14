"""Compressed bytes → bytes, within bounds: a small file may unpack to more than a disk holds."""

from __future__ import annotations

import bz2
import io
import lzma
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import IO, Protocol, cast

MAX_UNPACKED = 8 << 30  # bytes read out of one file
MAX_RATIO = 1000  # unpacked : packed, beyond the first 64 MiB
_FREE = 64 << 20
_MOST_LAYERS = 3  # a .gz of a .gz of a .gz
_STEP = 1 << 20  # bytes that are unpacked at once
_MAGIC = {b"\x1f\x8b": "gz", b"\x28\xb5\x2f\xfd": "zst", b"\xfd7zXZ\x00": "xz", b"BZh": "bz2"}
_MOST_MEMORY = 1 << 29  # bytes that xz may take for its dictionary


class Budget:
    """What may be read out of one file, all its members together."""

    def __init__(self, packed: int) -> None:
        """Take the size of the file as it lies there."""
        self._packed = max(packed, 1)
        self._total = 0
        self.spent = False

    def grow(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Count packed bytes on their way, of a stream whose size is not known before."""
        for chunk in chunks:
            self._packed += len(chunk)
            yield chunk

    def counted(self, chunks: Iterable[bytes], name: str, notes: list[str]) -> Iterator[bytes]:
        """Count unpacked bytes on their way; where they become too many they end, and that is noted."""
        for chunk in chunks:
            self._total += len(chunk)
            if self._total > MAX_UNPACKED or (self._total > _FREE and self._total > self._packed * MAX_RATIO):
                if not self.spent:
                    notes.append(
                        f"{name}: unpacks to more than {self._total >> 20} MiB from {self._packed} bytes; "
                        "the rest was left out"
                    )
                self.spent = True
                return
            yield chunk


class Stream(io.RawIOBase):
    """Chunks as a file that is read once from front to back."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        """Take the chunks."""
        self._chunks = iter(chunks)
        self._held = memoryview(b"")

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return so many bytes, fewer only at the end."""
        parts: list[memoryview] = []
        wanted = size if size >= 0 else _STEP
        while wanted:
            if not self._held:
                self._held = memoryview(next(self._chunks, b""))
                if not self._held:
                    break
            part, self._held = self._held[:wanted], self._held[wanted:]
            parts.append(part)
            wanted -= len(part)
        return b"".join(parts)


def form_of(head: bytes) -> str | None:
    """Return how bytes are compressed, by how they begin."""
    return next((form for magic, form in _MAGIC.items() if head.startswith(magic)), None)


def first_chunk(chunks: Iterator[bytes], size: int = 512) -> bytes:
    """Return the first bytes of a stream, at least `size` where it holds as many."""
    head = b""
    for chunk in chunks:
        head = head + chunk if head else chunk
        if len(head) >= size:
            break
    return head


def chained(first: bytes, rest: Iterable[bytes]) -> Iterator[bytes]:
    """Put the first bytes in front again."""
    return chain((first,), rest) if first else iter(())


def unpacked(chunks: Iterable[bytes], name: str, notes: list[str], layers: int = _MOST_LAYERS) -> Iterator[bytes]:
    """Unpack a stream that is compressed, in layers too; any other passes as it is.

    What cannot be read to the end is noted, and what comes before is handed over.
    """
    iterator = iter(chunks)
    first = first_chunk(iterator, 6)
    form = form_of(first)
    if form is None:
        yield from chained(first, iterator)
    elif layers == 0:
        notes.append(f"{name}: compressed more than {_MOST_LAYERS} times over; passed over")
    else:
        yield from unpacked(_unpack(chained(first, iterator), form, name, notes), name, notes, layers - 1)


def _unpack(chunks: Iterable[bytes], form: str, name: str, notes: list[str]) -> Iterator[bytes]:
    try:
        yield from _zstandard(chunks) if form == "zst" else _members(chunks, form)
    except (OSError, EOFError, lzma.LZMAError, zlib.error, MemoryError) as error:
        notes.append(f"{name}: read only in part: {str(error) or type(error).__name__}")


def _zstandard(chunks: Iterable[bytes]) -> Iterator[bytes]:
    import zstandard

    unpacker = zstandard.ZstdDecompressor(max_window_size=1 << 31)
    stream = unpacker.stream_reader(cast("IO[bytes]", Stream(chunks)), read_across_frames=True)
    try:
        while piece := stream.read(_STEP):
            yield piece
    except zstandard.ZstdError as error:
        raise OSError(str(error)) from error


def _members(chunks: Iterable[bytes], form: str) -> Iterator[bytes]:
    """Unpack a stream of members, one behind the other, never more than a little at once."""
    unpacker, begun = _unpacker_for(form), False
    for chunk in chunks:
        rest = chunk
        while rest:
            if not begun and form == "gz" and not (rest := rest.lstrip(b"\0")):
                break  # padding, as tapes have it
            piece = unpacker.decompress(rest, _STEP)
            begun = True
            rest = getattr(unpacker, "unconsumed_tail", b"")
            while piece:
                yield piece
                full = len(piece) == _STEP and not unpacker.eof and not rest
                piece = unpacker.decompress(b"", _STEP) if full else b""
            if unpacker.eof:
                rest = unpacker.unused_data
                unpacker, begun = _unpacker_for(form), False
    if begun:
        raise EOFError("it ends in the middle of what is compressed")


class _Unpacker(Protocol):
    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, most: int, /) -> bytes: ...


def _unpacker_for(form: str) -> _Unpacker:
    if form == "gz":
        return cast("_Unpacker", zlib.decompressobj(zlib.MAX_WBITS | 16))
    return cast("_Unpacker", lzma.LZMADecompressor(memlimit=_MOST_MEMORY) if form == "xz" else bz2.BZ2Decompressor())
