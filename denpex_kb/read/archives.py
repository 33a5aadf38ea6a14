"""Archives of logs, read like folders: nothing is written anywhere, so hostile names and links do nothing."""

from __future__ import annotations

import io
import lzma
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import IO, cast

from msgspec import Struct

from denpex_kb.model.display import one_line
from denpex_kb.read.unpack import Budget, Stream, chained, first_chunk, form_of, unpacked

_TAR_AT = 257  # where a tar says that it is one
_MOST_MEMBERS = 20_000
_MOST_HEADER = 1 << 20  # bytes of one member's extended header
_MOST_DIRECTORY = 64 << 20  # bytes of a zip's table of contents
_DEEPEST = 3  # archives inside archives
_MOST_INNER_ZIP = 256 << 20  # a zip inside an archive is held in memory
_BLOCK = 256 << 10
_BROKEN = (zlib.error, lzma.LZMAError)


class Member(Struct, frozen=True):
    """A file inside an archive."""

    name: str  # archive.tar!/path/in/it
    chunks: Iterator[bytes]


def is_tar(head: bytes) -> bool:
    """Say whether (unpacked) bytes begin a tar."""
    return head[_TAR_AT : _TAR_AT + 5] == b"ustar"


def is_zip(head: bytes) -> bool:
    """Say whether bytes begin a zip."""
    return head.startswith((b"PK\x03\x04", b"PK\x05\x06"))


def tar_members(
    chunks: Iterable[bytes], name: str, budget: Budget, notes: list[str], depth: int = 1
) -> Iterator[Member]:
    """Go through the files of a tar, in their order; each must be read before the next.

    Args:
        chunks: the tar's bytes, already unpacked.
        name: the archive's name, as shown to the user.
        budget: what may be read out of the outermost archive.
        notes: takes what was left out, and why.
        depth: how many archives are around.
    """
    try:
        with tarfile.open(mode="r|", fileobj=cast("IO[bytes]", Stream(chunks)), tarinfo=_Info, errorlevel=0) as archive:
            left_out = 0
            for count, info in enumerate(archive):
                vars(archive)["members"] = []  # they would pile up
                if count >= _MOST_MEMBERS:
                    notes.append(f"{name}: more than {_MOST_MEMBERS} files; the rest was left out")
                    break
                if budget.spent:
                    return
                if info.isdir():
                    continue
                stream = archive.extractfile(info) if info.isreg() else None
                if stream is None:
                    left_out += 1  # a link, a device, a pipe
                    continue
                inner = f"{name}!/{_inner_name(info.name)}"
                yield from _member(inner, _blocks(stream, inner, notes), budget, notes, depth)
            _say_left_out(name, left_out, notes)
    except (tarfile.TarError, OSError, EOFError, ValueError, OverflowError) as error:
        notes.append(f"{name}: read only in part: {_reason(error)}")


def zip_members(stream: IO[bytes], name: str, budget: Budget, notes: list[str], depth: int = 1) -> Iterator[Member]:
    """Go through the files of a zip; as for a tar."""
    try:
        if _directory_size(stream) > _MOST_DIRECTORY:
            notes.append(f"{name}: its table of contents is larger than {_MOST_DIRECTORY >> 20} MiB; passed over")
            return
        with zipfile.ZipFile(stream) as archive:
            left_out = 0
            for count, info in enumerate(archive.infolist()):
                if count >= _MOST_MEMBERS:
                    notes.append(f"{name}: more than {_MOST_MEMBERS} files; the rest was left out")
                    break
                if budget.spent:
                    return
                if info.filename.endswith("/"):  # `is_dir` fails on an empty name
                    continue
                inner = f"{name}!/{_inner_name(info.filename)}"
                kind = stat.S_IFMT(info.external_attr >> 16)
                if kind not in (0, stat.S_IFREG):
                    left_out += 1
                elif info.flag_bits & 1:
                    notes.append(f"{inner}: encrypted; passed over")
                else:
                    try:
                        member = archive.open(info)
                    except (zipfile.BadZipFile, NotImplementedError, OSError, EOFError) as error:
                        notes.append(f"{inner}: cannot be read: {_reason(error)}")
                        continue
                    with member:
                        yield from _member(inner, _blocks(member, inner, notes), budget, notes, depth)
            _say_left_out(name, left_out, notes)
    except (zipfile.BadZipFile, NotImplementedError, OSError, EOFError, ValueError, struct.error) as error:
        notes.append(f"{name}: not read as an archive: {_reason(error)}")


def _member(name: str, chunks: Iterator[bytes], budget: Budget, notes: list[str], depth: int) -> Iterator[Member]:
    """Hand over a member: as it is, unpacked where it is compressed, or opened where it is an archive itself."""
    reading = budget.counted(chunks, name, notes)
    first = first_chunk(reading)
    if form_of(first) is not None:
        reading = budget.counted(unpacked(chained(first, reading), name, notes), name, notes)
        first = first_chunk(reading)
    whole = chained(first, reading)
    if not (is_tar(first) or is_zip(first)):
        yield Member(name, whole)
    elif depth >= _DEEPEST:
        notes.append(f"{name}: an archive inside {depth} others; passed over")
    elif is_tar(first):
        yield from tar_members(whole, name, budget, notes, depth + 1)
    else:
        held = bytearray()
        for chunk in whole:
            held += chunk
            if len(held) > _MOST_INNER_ZIP:
                notes.append(f"{name}: a zip of more than {_MOST_INNER_ZIP >> 20} MiB inside an archive; passed over")
                return
        yield from zip_members(io.BytesIO(held), name, budget, notes, depth + 1)


class _Info(tarfile.TarInfo):
    """A member's header; extended ones are read into memory, so their size is looked at first."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _Info:
        info = super().frombuf(buf, encoding, errors)
        extended = (
            tarfile.XHDTYPE,
            tarfile.XGLTYPE,
            tarfile.SOLARIS_XHDTYPE,
            tarfile.GNUTYPE_LONGNAME,
            tarfile.GNUTYPE_LONGLINK,
        )
        if info.size < 0 or (info.type in extended and info.size > _MOST_HEADER):
            raise tarfile.ReadError("a header of impossible size")
        return info


def _blocks(stream: IO[bytes], name: str, notes: list[str]) -> Iterator[bytes]:
    try:
        while chunk := stream.read(_BLOCK):
            yield chunk
    except (zipfile.BadZipFile, NotImplementedError, tarfile.TarError, OSError, EOFError, *_BROKEN) as error:
        notes.append(f"{name}: read only in part: {_reason(error)}")


def _inner_name(name: str) -> str:
    """Return a member's path without what would climb out of a folder; it only is a name here."""
    parts = [part for part in PurePosixPath(name.replace("\\", "/")).parts if part not in ("/", "..", ".")]
    return one_line("/".join(parts)[:400]) or "unnamed"


def _say_left_out(name: str, count: int, notes: list[str]) -> None:
    if count:
        notes.append(f"{name}: {count} link{'s' * (count != 1)} or device{'s' * (count != 1)} in it passed over")


def _directory_size(stream: IO[bytes]) -> int:
    """Return the size of a zip's table of contents, as its end states it."""
    size = stream.seek(0, io.SEEK_END)
    stream.seek(max(0, size - 66_000))
    end = stream.read()
    stream.seek(0)
    at = end.rfind(b"PK\x05\x06")
    if at < 0 or len(end) - at < 22:
        raise zipfile.BadZipFile("its end is missing")
    stated: int = struct.unpack_from("<L", end, at + 12)[0]
    large = end.rfind(b"PK\x06\x06")
    if stated == 0xFFFFFFFF and large >= 0 and len(end) - large >= 48:
        stated = struct.unpack_from("<Q", end, large + 40)[0]
    return stated


def _reason(error: BaseException) -> str:
    return str(error) or type(error).__name__
