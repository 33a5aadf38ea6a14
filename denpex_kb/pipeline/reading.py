"""One file of the input → everything that is read of it; the work that threads, processes and machines share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from denpex_kb.index.open import Index
from denpex_kb.model.events import Reading
from denpex_kb.model.facts import Fact
from denpex_kb.pipeline.dumps import Dump, DumpReader
from denpex_kb.read.configs import MAX_SIZE, looks_like_config, read_config
from denpex_kb.read.files import InputFile, Part, binary_reason, open_parts
from denpex_kb.read.paths import PathReader
from denpex_kb.read.prefixes import PrefixReader
from denpex_kb.read.scan import TAIL, Scanner
from denpex_kb.read.stacks import StackReader
from denpex_kb.read.timestamps import TimeReader

if TYPE_CHECKING:
    from collections.abc import Callable

    from denpex_kb.read.ahead import Ahead

_LEAST_TAIL = 8 << 10


class FileRead(Struct):
    """What one log told; of a config only facts, of what cannot be read only notes."""

    reading: Reading | None = None
    dump: Dump | None = None
    facts: list[Fact] = []
    notes: list[str] = []


def tail_for(files: int) -> int:
    """Return of how many bytes at the end of a file every line is looked at: fewer where there are many files."""
    return max(_LEAST_TAIL, min(TAIL, 16 * TAIL // max(files, 1)))


class FileReader:
    """Reads files with one open index; several threads may use it at once."""

    def __init__(self, index: Index) -> None:
        """Compile what every file needs."""
        self._index = index
        kb = index.kb
        self._prefixes = PrefixReader(kb.prefixes)
        self._by_path = PathReader(kb.paths)
        self._stacks = StackReader(index.rules, self._prefixes)
        self.scanner = Scanner(index.rules, index.database, self._prefixes, TimeReader(kb.times))

    def read(
        self,
        file: InputFile,
        *,
        tail: int = TAIL,
        ahead: Ahead | None = None,
        passing: Callable[[Iterator[bytes]], Iterator[bytes]] | None = None,
    ) -> list[FileRead]:
        """Read a file, or everything that an archive holds.

        Args:
            file: what to read.
            tail: bytes at the end of which every line is looked at.
            ahead: looks at its pieces elsewhere.
            passing: sees every chunk on its way, and may end the reading early.
        """
        found: list[FileRead] = []
        notes: list[str] = []
        for part in open_parts(file, notes):
            chunks = passing(part.chunks) if passing is not None else part.chunks
            found.append(self.part(part, chunks, tail=tail, ahead=ahead))
        found.append(FileRead(notes=notes))
        return found

    def part(self, part: Part, chunks: Iterator[bytes], *, tail: int = TAIL, ahead: Ahead | None = None) -> FileRead:
        """Read one log."""
        notes: list[str] = []
        origin = self._by_path.read(part.name)
        dumps = DumpReader(self._stacks)
        opened = dumps.open(chunks, origin, notes)
        if opened is None:
            return FileRead(notes=notes)
        chunks, origin = iter(opened[0]), opened[1]
        first = next(chunks, b"")
        if not first:
            if part.named:
                notes.append(f"{part.name}: empty")
            return FileRead(Reading(origin), notes=notes)
        reason = binary_reason(first)
        if reason is not None:
            return FileRead(notes=[*notes, f"{part.name}: {reason}; passed over"])
        if looks_like_config(part.name) and len(first) < MAX_SIZE:
            stated = read_config(first.decode("utf-8", "replace"), part.name, self._index.kb, named=part.named)
            if stated is not None:
                return FileRead(facts=list(stated), notes=notes)
        reading = self.scanner.scan(chain((first,), chunks), origin, ahead, tail)
        return FileRead(reading, dumps.close(reading), notes=notes)


def read_elsewhere(index: Path, file: InputFile, tail: int) -> list[FileRead]:
    """Read a file in another process or on another machine, where the index and the file have the same paths."""
    return _reader_of(index).read(file, tail=tail)


@cache
def _reader_of(index: Path) -> FileReader:
    return FileReader(Index(index))


def merged(reads: Iterable[FileRead]) -> tuple[list[FileRead], list[Fact], list[str]]:
    """Return what holds a log, the facts of configs, and the notes."""
    held = list(reads)
    return (
        [item for item in held if item.reading is not None],
        [fact for item in held for fact in item.facts],
        [
            *(note for item in held if item.reading is not None for note in item.reading.notes),
            *(note for item in held for note in item.notes),
        ],
    )


def dumps_of(reads: Sequence[FileRead]) -> list[tuple[Dump, Reading]]:
    """Return the dumps, each with what was read of its file."""
    return [(item.dump, item.reading) for item in reads if item.dump is not None and item.reading is not None]
