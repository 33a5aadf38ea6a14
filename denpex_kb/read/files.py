"""Paths → the files to read and their bytes, plain, compressed or in archives."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePath
from typing import IO

from msgspec import Struct

from denpex_kb.errors import InputError
from denpex_kb.model.display import REPORT, one_line
from denpex_kb.read.archives import Member, is_tar, is_zip, tar_members, zip_members
from denpex_kb.read.text import is_binary
from denpex_kb.read.unpack import Budget, chained, first_chunk, form_of, unpacked

CHUNK = 1 << 20  # bytes; larger ones do not stay in the processor's cache
MAX_FILES = 20_000
_GROWN = 256 << 20  # bytes that are read beyond the size that a file had when it was opened
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
_ZIP = (".zip", "")  # other files that are zips inside hold no logs


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
            files.append(InputFile(path, one_line(str(path)), named=True))
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
        root, followlinks=False, onerror=lambda error: notes.append(one_line(f"{error.filename}: {error.strerror}"))
    ):
        folders[:] = sorted(name for name in folders if name not in {".git", "__pycache__", "node_modules"})
        for name in sorted(names):
            path = Path(folder) / name
            try:
                mode = path.stat().st_mode
            except OSError as error:
                notes.append(one_line(f"{path}: {error.strerror}"))
                continue
            if not stat.S_ISREG(mode) or path.suffix.lower() in _PASS_OVER:
                others += 1
                continue
            if len(found) >= MAX_FILES:
                notes.append(f"{one_line(str(root))}: more than {MAX_FILES} files; the rest was left out")
                return found
            found.append(InputFile(path, one_line(str(path.relative_to(root))), named=False))
    if others:
        notes.append(f"{one_line(str(root))}: {_no_logs(others)}")
    return found


def _no_logs(files: int) -> str:
    return "1 file that holds no log passed over" if files == 1 else f"{files} files that hold no logs passed over"


class Part(Struct, frozen=True):
    """One log among the inputs: a file, or a member of an archive."""

    name: str
    named: bool
    chunks: Iterator[bytes]


def open_parts(file: InputFile, notes: list[str]) -> Iterator[Part]:
    """Open a file, or everything that an archive holds, one after the other; each is read before the next.

    Args:
        file: what to open.
        notes: takes what cannot be read, and why.
    """
    suffix = file.path.suffix.lower()
    try:
        with opened(file.path) as stream:
            if suffix in _ZIP and is_zip(_peek(stream)):
                yield from _logs(zip_members(stream, file.name, Budget(_size(stream)), notes), file.name, notes)
                return
            chunks = _unpacked_chunks(stream, file.name, notes)
            yield from _parts(chunks, file, _size(stream), notes)
    except OSError as error:
        notes.append(f"{file.name}: cannot be opened: {error.strerror or error}")


def _parts(chunks: Iterator[bytes], file: InputFile, size: int, notes: list[str]) -> Iterator[Part]:
    first = first_chunk(chunks)
    whole = chained(first, chunks)
    if not is_tar(first):
        yield Part(file.name, file.named, whole)
        return
    yield from _logs(tar_members(whole, file.name, Budget(size), notes), file.name, notes)


def _logs(members: Iterable[Member], name: str, notes: list[str]) -> Iterator[Part]:
    others = 0
    for member in members:
        if PurePath(member.name).suffix.lower() in _PASS_OVER:
            others += 1
        else:
            yield Part(member.name, False, member.chunks)
    if others:
        notes.append(f"{name}: {_no_logs(others)}")


def read_chunks(path: Path, notes: list[str]) -> Iterator[bytes]:
    """Read a file in pieces, unpacked where it is compressed; what cannot be read to the end is noted."""
    try:
        with opened(path) as stream:
            yield from _unpacked_chunks(stream, one_line(path.name), notes)
    except OSError as error:
        notes.append(f"{one_line(path.name)}: cannot be opened: {error.strerror or error}")


def part_chunks(path: Path, member: str) -> Iterator[bytes]:
    """Read one member of an archive again; nothing where it is not there any more."""
    for part in open_parts(InputFile(path, str(path), named=True), []):
        if part.name.removeprefix(str(path)) == member:
            yield from part.chunks
            return


def _unpacked_chunks(stream: IO[bytes], name: str, notes: list[str]) -> Iterator[bytes]:
    head = _peek(stream)
    chunks = _plain(stream, name, notes)
    if form_of(head) is None:
        return chunks
    return Budget(_size(stream)).counted(unpacked(chunks, name, notes), name, notes)


def _plain(stream: IO[bytes], name: str, notes: list[str]) -> Iterator[bytes]:
    # A file is read, never mapped: one that is cut short meanwhile just ends. One that grows as fast as it is read
    # does not go on for ever.
    left = _size(stream) + _GROWN
    try:
        while left > 0 and (chunk := stream.read(CHUNK)):
            left -= len(chunk)
            yield chunk
    except OSError as error:
        notes.append(f"{name}: read only in part: {error.strerror or error}")


def opened(path: Path) -> IO[bytes]:
    """Open a regular file; what became a pipe since it was found must not block.

    Raises:
        OSError: it cannot be opened.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(None, "no regular file any more")
    return os.fdopen(descriptor, "rb")


def _peek(stream: IO[bytes]) -> bytes:
    head = stream.read(6)
    stream.seek(0)
    return head


def _size(stream: IO[bytes]) -> int:
    return os.fstat(stream.fileno()).st_size


def stream_parts(chunks: Iterable[bytes], name: str, notes: list[str]) -> Iterator[Part]:
    """Open a stream, such as standard input: as it is, unpacked where it is compressed, or as the tar that it is.

    Raises:
        InputError: the stream is compressed and broken from its first bytes on.
    """
    budget = Budget(0)
    raw = budget.grow(chunks)
    first = first_chunk(raw, 6)
    reading = chained(first, raw)
    if form_of(first) is not None:
        reading = budget.counted(unpacked(reading, name, notes), name, notes)
    head = first_chunk(reading)
    if first and not head:
        raise InputError(f"the input is compressed and cannot be unpacked: {'; '.join(notes) or 'nothing is in it'}")
    if is_tar(head):
        yield from _logs(tar_members(chained(head, reading), name, budget, notes), name, notes)
        return
    yield Part(name, True, chained(head, reading))


def binary_reason(head: bytes) -> str | None:
    """Say why the first bytes of a file are no log; None where they may be one."""
    if REPORT.encode() in head[:4096]:
        return "a report that denpex wrote, not a log"
    return "a binary file, not a log" if is_binary(head) else None
