"""Many files → what was read of each, in their order: here, in threads, or wherever an executor works."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from denpex_kb.errors import InputError
from denpex_kb.pipeline.reading import FileRead, FileReader, read_elsewhere, tail_for
from denpex_kb.read.files import InputFile
from denpex_kb.read.text import clean

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future
    from pathlib import Path
    from threading import Event

    from denpex_kb.read.ahead import Ahead

Progress = Callable[[int, int], None]  # bytes read, bytes in all

_WORTH_THREADS = 8 << 20  # bytes of a file; starting threads takes as long as scanning less than that
_WORTH_PROCESSES = 64 << 20  # bytes of all such files
_MOST_JOBS = 8
_SUBMITTED = 64  # files that wait for a worker


def default_jobs() -> int:
    """Return how many threads scan where nobody says: one for each processor that this process may use."""
    try:
        usable = len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        usable = os.cpu_count() or 1
    return min(usable, _MOST_JOBS)


class Gathering:
    """The reading of many files."""

    def __init__(
        self,
        reader: FileReader,
        index: Path,
        *,
        jobs: int | None = None,
        executor: Executor | None = None,
        progress: Progress | None = None,
        stop: Event | None = None,
    ) -> None:
        """Say how the files are read.

        Args:
            reader: reads them in this process.
            index: the file of the index, which other processes open themselves.
            jobs: threads or processes that scan large files; one for each processor where None.
            executor: where whole files are read instead. Threads use the reader, anything else opens the index.
            progress: is told how far the reading is.
            stop: when set, the reading ends as soon as it can, with what was read until then.
        """
        self._reader = reader
        self._index = index
        self._jobs = default_jobs() if jobs is None else max(jobs, 1)
        self._executor = executor
        self._progress = progress
        self._stop = stop
        self._done = 0
        self._total = 0

    def read(self, files: Sequence[InputFile]) -> Iterator[FileRead]:
        """Read the files; what each told comes in their order."""
        sizes = [_size(file) for file in files]
        self._total = sum(sizes)
        tail = tail_for(len(files))
        results = self._elsewhere(files, tail) if self._executor is not None else self._here(files, sizes, tail)
        for done, (size, found) in enumerate(zip(sizes, results, strict=False), 1):
            yield from found
            self._told(size if self._executor is not None else 0)
            if self._stopped and done < len(files):
                yield FileRead(notes=[f"interrupted: {done} of {len(files)} files were read"])
                return
        if self._stopped:
            yield FileRead(notes=["interrupted: the rest was not read"])

    @property
    def _stopped(self) -> bool:
        return self._stop is not None and self._stop.is_set()

    def _here(self, files: Sequence[InputFile], sizes: Sequence[int], tail: int) -> Iterator[list[FileRead]]:
        large = sum(size for size in sizes if size > _WORTH_THREADS)
        with self._helped(large) if large and self._jobs > 1 else nullcontext() as ahead:
            for file, size in zip(files, sizes, strict=True):
                self._file_end = self._done + size
                helped = ahead if size > _WORTH_THREADS else None
                yield self._reader.read(file, tail=tail, ahead=helped, passing=self._passing)
                self._told(self._file_end - self._done)

    def _helped(self, size: int) -> AbstractContextManager[Ahead]:
        """Return what looks at the pieces of large files: processes where it is worth it, or else threads."""
        from denpex_kb.read.ahead import can_fork, in_processes, in_threads  # what small inputs need not load

        if size > _WORTH_PROCESSES and can_fork():
            return in_processes(self._reader.scanner, clean, self._jobs)
        return in_threads(self._reader.scanner, self._jobs)

    def _elsewhere(self, files: Sequence[InputFile], tail: int) -> Iterator[list[FileRead]]:
        from concurrent.futures import BrokenExecutor, ThreadPoolExecutor

        assert self._executor is not None
        shared = isinstance(self._executor, ThreadPoolExecutor)
        waiting: deque[Future[list[FileRead]]] = deque()
        pending = iter(files)
        try:
            while True:
                while len(waiting) < _SUBMITTED and (file := next(pending, None)) is not None:
                    waiting.append(
                        self._executor.submit(self._reader.read, file, tail=tail)
                        if shared
                        else self._executor.submit(read_elsewhere, self._index, file, tail)
                    )
                if not waiting:
                    return
                yield waiting.popleft().result()
        except BrokenExecutor as error:
            raise InputError(f"a worker that read files has died ({error}); try again with fewer of them") from error
        finally:
            for future in waiting:
                future.cancel()

    def _passing(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            if self._stopped:
                return
            yield chunk
            self._told(min(len(chunk), self._file_end - self._done))  # of what is unpacked, no more than lies there

    def _told(self, size: int) -> None:
        self._done += max(size, 0)
        if self._progress is not None:
            self._progress(self._done, self._total)


def _size(file: InputFile) -> int:
    try:
        return file.path.stat().st_size
    except OSError:
        return 0
