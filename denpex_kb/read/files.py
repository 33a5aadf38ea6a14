"""Paths → the files to read and their bytes, plain or compressed, bounded."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import stat
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import IO, Protocol, cast

from msgspec import Struct

from denpex_kb.errors import InputError
from denpex_kb.model.display import REPORT
from denpex_kb.read.text import is_binary

CHUNK = 4 << 20
MAX_FILES = 20_000
MAX_UNPACKED = 8 << 30  # bytes read out of one compressed file
MAX_RATIO = 2000  # unpacked : packed, beyond the first 64 MiB
COMPRESSED = (".gz", ".zst", ".xz", ".bz2", ".lzma")
# What training jobs leave beside their logs and no diagnosis reads.
_PASS_OVER = frozenset(
    [
        ".pt",
        ".pth",
        ".bin",
        ".safetensors",
        ".ckpt",
        ".npy",
        ".npz",
        ".h5",
        ".parquet",
        ".arrow",
        ".png",
        ".jpg",
        ".jpeg",
        ".gif",
        ".pdf",
        ".so",
        ".o",
        ".a",
        ".whl",
        ".pyc",
        ".tfevents",
        ".onnx",
        ".model",
        ".idx",
        ".mp4",
        ".wav",
        ".db",
        ".sqlite",
        ".lock",
        ".py",
        ".ipynb",
        ".md",
        ".html",
        ".js",
        ".css",
        ".svg",
    ]
)
_MAGIC = {b"\x1f\x8b": "gz", b"\x28\xb5\x2f\xfd": "zst", b"\xfd7zXZ\x00": "xz", b"BZh": "bz2"}


class InputFile(Struct, frozen=True):
    """A file to read: where it is, and what it is called on the screen."""

    path: Path
    name: str
    named: bool  # the user named the file itself, not only a folder above it


def collect(paths: Sequence[Path]) -> tuple[list[InputFile], list[str]]:
    """Find the files under some paths; returns them in a stable order, and notes on what was passed over.

    Raises:
        InputError: a named path does not exist, or nothing can be read under any of them.
    """
    files: list[InputFile] = []
    notes: list[str] = []
    for path in paths:
        try:
            mode = path.stat().st_mode
        except FileNotFoundError:
            raise InputError(f"{path}: no such file or folder; check the path") from None
        except OSError as error:
            raise InputError(f"{path}: cannot be opened: {error.strerror}") from error
        if stat.S_ISDIR(mode):
            files += _walk(path, notes)
        elif stat.S_ISREG(mode):
            files.append(InputFile(path, str(path), named=True))
        elif stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
            raise InputError(f"{path}: a pipe or device, not a file; pass its output with `denpex diagnose -`")
        else:
            raise InputError(f"{path}: neither a file nor a folder")
    if not files:
        raise InputError(f"{', '.join(map(str, paths))}: no logs in there; name a log file or a folder that holds some")
    return files, notes


def _walk(root: Path, notes: list[str]) -> list[InputFile]:
    found: list[InputFile] = []
    others = 0
    for folder, folders, names in os.walk(
        root, followlinks=False, onerror=lambda error: notes.append(f"{error.filename}: {error.strerror}")
    ):
        folders[:] = sorted(name for name in folders if name not in {".git", "__pycache__", "node_modules"})
        for name in sorted(names):
            path = Path(folder) / name
            try:
                mode = path.stat().st_mode
            except OSError as error:
                notes.append(f"{path}: {error.strerror}")
                continue
            if not stat.S_ISREG(mode) or path.suffix.lower() in _PASS_OVER:
                others += 1
                continue
            if len(found) >= MAX_FILES:
                notes.append(f"{root}: more than {MAX_FILES} files; the rest was left out")
                return found
            found.append(InputFile(path, str(path.relative_to(root)), named=False))
    if others:
        notes.append(f"{root}: {others} file{'s' * (others != 1)} that hold no logs passed over")
    return found


def read_chunks(path: Path, notes: list[str]) -> Iterator[bytes]:
    """Read a file in pieces, unpacked where it is compressed; what cannot be read to the end is noted."""
    try:
        with path.open("rb") as stream:
            head = stream.read(6)
            stream.seek(0)
            form = next((form for magic, form in _MAGIC.items() if head.startswith(magic)), None)
            yield from _plain(stream) if form is None else _bounded(_unpacked(stream, form), path, notes)
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        notes.append(f"{path.name}: read only in part: {reason}")


def _plain(stream: IO[bytes]) -> Iterator[bytes]:
    # read1 hands over what is there: of a file that is cut short, nothing that can be unpacked is lost
    read = getattr(stream, "read1", stream.read)
    while chunk := read(CHUNK):
        yield chunk


def _unpacked(stream: IO[bytes], form: str) -> Iterator[bytes]:
    if form == "zst":
        import zstandard

        try:
            unpacker = zstandard.ZstdDecompressor(max_window_size=1 << 31)
            yield from _plain(cast("IO[bytes]", unpacker.stream_reader(stream, read_across_frames=True)))
        except zstandard.ZstdError as error:
            raise OSError(None, str(error)) from error
    elif form == "gz":
        yield from _plain(cast("IO[bytes]", gzip.GzipFile(fileobj=stream, mode="rb")))
    elif form == "xz":
        with lzma.LZMAFile(stream) as unpacked:
            yield from _plain(cast("IO[bytes]", unpacked))
    else:
        with bz2.BZ2File(stream) as unzipped:
            yield from _plain(cast("IO[bytes]", unzipped))


def _bounded(chunks: Iterable[bytes], path: Path, notes: list[str]) -> Iterator[bytes]:
    packed = max(path.stat().st_size, 1)
    total = 0
    for chunk in chunks:
        total += len(chunk)
        if total > MAX_UNPACKED or (total > 64 << 20 and total > packed * MAX_RATIO):
            notes.append(
                f"{path.name}: unpacks to more than {total >> 20} MiB from {packed} bytes; the rest was left out"
            )
            return
        yield chunk


def unpacked_stream(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Unpack a stream that is compressed, such as standard input; any other passes as it is.

    Raises:
        InputError: the stream is compressed and broken from its first bytes on.
    """
    iterator = iter(chunks)
    first = next(iterator, b"")
    form = next((form for magic, form in _MAGIC.items() if first.startswith(magic)), None)
    if form is None:
        yield first
        yield from iterator
        return
    total = 0
    unpacker = _unpacker(form)
    for chunk in chain((first,), iterator):
        rest = chunk
        while rest and total <= MAX_UNPACKED:
            try:
                piece = unpacker.decompress(rest)
            except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
                if not total:
                    raise InputError(f"the input is compressed and cannot be unpacked: {error}") from error
                return
            total += len(piece)
            if piece:
                yield piece
            rest = unpacker.unused_data if unpacker.eof else b""
            if unpacker.eof:  # members of one archive, one behind the other
                unpacker = _unpacker(form)


class _Unpacker(Protocol):
    eof: bool
    unused_data: bytes

    def decompress(self, data: bytes, /) -> bytes: ...


def _unpacker(form: str) -> _Unpacker:
    if form == "zst":
        import zstandard

        return cast("_Unpacker", zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj())
    if form == "gz":
        return cast("_Unpacker", zlib.decompressobj(zlib.MAX_WBITS | 16))
    return cast("_Unpacker", lzma.LZMADecompressor() if form == "xz" else bz2.BZ2Decompressor())


def binary_reason(head: bytes) -> str | None:
    """Say why the first bytes of a file are no log; None where they may be one."""
    if REPORT.encode() in head[:4096]:
        return "a report that denpex wrote, not a log"
    return "a binary file, not a log" if is_binary(head) else None
