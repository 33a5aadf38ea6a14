"""Logs that grow → a diagnosis as soon as the job has failed, has ended, or says nothing any more."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from denpex_kb.derive.progress import SAID_TO_HANG
from denpex_kb.errors import InputError
from denpex_kb.model.diagnosis import Diagnosis
from denpex_kb.model.events import Origin, Reading
from denpex_kb.pipeline.logs import LogDiagnoser
from denpex_kb.pipeline.reading import FileRead, tail_for
from denpex_kb.read.files import InputFile, binary_reason, collect, opened
from denpex_kb.read.paths import PathReader
from denpex_kb.read.scan import FileScan, Scanner
from denpex_kb.read.text import ToUtf8
from denpex_kb.read.unpack import form_of

if TYPE_CHECKING:
    from threading import Event

_EVERY = 1.0  # seconds between two looks
_SETTLED = 15.0  # seconds without a new line that matches: a failure prints for a while, and a retry goes on
_AT_ONCE = 64 << 20  # bytes of one file in one look
_LONGEST_LINE = 8 << 20
_MARK = 64  # bytes by which a file is known again
_MOST_GONE = 8  # files whose contents were rotated away and are still remembered
_PATIENCE = 20.0  # how many times as long as a conclusion takes one waits before the next


class Follower:
    """Watches files and folders; everything it remembers is bounded."""

    def __init__(
        self,
        logs: LogDiagnoser,
        by_path: PathReader,
        paths: Sequence[Path],
        final: Callable[[bool], Diagnosis],
        *,
        stall: float,
        hung: bool = False,
        settled: float = _SETTLED,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin with what is there.

        Args:
            logs: concludes.
            by_path: reads what names of files say.
            paths: what to watch; folders may get further files.
            final: reads everything once more for the answer; is told whether the job hangs.
            stall: seconds of silence that count as a stall.
            hung: the user says already that the job hangs.
            settled: seconds without a new line that matches, after which is concluded.
            clock: tells the time in seconds.

        Raises:
            InputError: a path does not exist, or is no file or folder.
        """
        self._logs = logs
        self._by_path = by_path
        self._paths = list(paths)
        self._final = final
        self._stall = stall
        self._hung = hung
        self._settled = min(settled, stall)
        self._clock = clock
        self._files: dict[Path, _Growing] = {}
        self._gone: deque[Reading] = deque(maxlen=_MOST_GONE)
        self._rotated = False
        self._began = self._grown = self._news = clock()
        self._open_news = False
        self._wait_until = 0.0
        for path in self._paths:
            if not path.exists():
                raise InputError(f"{path}: no such file or folder; check the path")

    @property
    def watched(self) -> str:
        """What is watched, in words."""
        return ", ".join(map(str, self._paths))

    def run(self, stop: Event) -> Diagnosis:
        """Watch until there is something to say, or until the event is set.

        Raises:
            InputError: nothing was readable until the end.
        """
        while not stop.is_set():
            found = self.look()
            if found is not None:
                return found
            stop.wait(_EVERY)
        return self._answer(hung=self._hung, note="interrupted while it was followed")

    def look(self) -> Diagnosis | None:
        """Read what has come since the last look, and conclude where that is due."""
        self._read_on()
        now = self._clock()
        if now - self._grown >= self._stall and any(file.scan is not None for file in self._files.values()):
            return self._silent(now - self._grown)
        if self._open_news and now - self._news >= self._settled and now >= self._wait_until:
            self._open_news = False
            began = self._clock()
            soon = self._so_far(hung=False)
            self._wait_until = self._clock() + _PATIENCE * (self._clock() - began)
            if soon is not None and _is_over(soon):
                return self._answer(hung=self._hung, note="")
        return None

    def _read_on(self) -> None:
        try:
            files, _ = collect(self._paths)
        except InputError:  # nothing there yet, or nothing any more
            files = []
        tail = tail_for(len(files))
        for file in files:
            growing = self._files.get(file.path)
            if growing is None:
                growing = _Growing(file, self._by_path.read(file.name), self._logs.scanner, tail)
                self._files[file.path] = growing
            before = growing.matched
            if growing.read_on():
                self._grown = self._clock()
            if growing.rotated is not None:
                self._gone.append(growing.rotated)
                self._rotated, growing.rotated, before = True, None, -1
            if growing.matched != before:
                self._open_news, self._news = True, self._clock()

    def _so_far(self, *, hung: bool, notes: Sequence[str] = ()) -> Diagnosis | None:
        readings = [*self._gone, *(file.scan.so_far() for file in self._files.values() if file.scan is not None)]
        reads = [FileRead(reading) for reading in readings if reading.lines]
        if not reads:
            return None
        return self._logs.diagnosis(reads, (), notes, "logs" if len(reads) > 1 else "log", hung=hung)

    def _silent(self, seconds: float) -> Diagnosis:
        """Conclude from silence, which the user did not state; logs that are gone cannot say more."""
        gone = [
            name
            for path, file in self._files.items()
            if file.scan is not None and not path.exists()
            for name in [file.file.name]
        ]
        note = f"nothing was written for {seconds:.0f} s"
        if gone:
            note += f"; {', '.join(gone[:3])}{', ...' if len(gone) > 3 else ''} is no longer there"
        found = self._answer(hung=True, note=note)
        if self._hung:
            return found
        return structs.replace(found, because=found.because.replace(SAID_TO_HANG, note))

    def _answer(self, *, hung: bool, note: str) -> Diagnosis:
        notes = [note] if note else []
        if self._rotated:
            notes.append("a log was rotated or cut short while it was followed; what it held before counts as well")
            found = self._so_far(hung=hung, notes=notes)
        else:
            try:
                whole = self._final(hung)
                return structs.replace(whole, input=structs.replace(whole.input, notes=(*whole.input.notes, *notes)))
            except InputError:
                found = self._so_far(hung=hung, notes=notes)
        if found is None:
            raise InputError(f"{self.watched}: nothing in there could be read as a log")
        return found


class _Growing:
    """One file that grows, and the state of its scan."""

    def __init__(self, file: InputFile, origin: Origin, scanner: Scanner, tail: int) -> None:
        self.file = file
        self.scan: FileScan | None = None
        self.rotated: Reading | None = None
        self._origin = origin
        self._scanner = scanner
        self._tail = tail
        self._unreadable = False
        self._begin()

    def _begin(self) -> None:
        self._at = 0
        self._node: tuple[int, int] | None = None
        self._mark = b""
        self._held = b""
        self._decoder = ToUtf8()
        self.scan = None

    @property
    def matched(self) -> int:
        return len(self.scan.reading.seen) if self.scan is not None else 0

    def read_on(self) -> bool:
        """Read what has come; says whether anything has."""
        if self._unreadable:
            return False
        try:
            with opened(self.file.path) as stream:
                status = os.fstat(stream.fileno())
                node = (status.st_dev, status.st_ino)
                if self._is_another(stream, node, status.st_size):
                    self._turn_over()
                self._node = node
                stream.seek(self._at)
                data = stream.read(min(_AT_ONCE, max(status.st_size - self._at, 0)))
        except OSError:  # vanished, or not to be read: what was seen of it stays
            return False
        if not data:
            return False
        self._take(data)
        return True

    def _is_another(self, stream: object, node: tuple[int, int], size: int) -> bool:
        if self._node is None:
            return False
        if node != self._node or size < self._at:
            return True
        stream.seek(self._at - len(self._mark))  # type: ignore[attr-defined]
        return bool(stream.read(len(self._mark)) != self._mark)  # type: ignore[attr-defined]

    def _turn_over(self) -> None:
        if self.scan is not None:
            reading = self.scan.so_far()
            name = f"{reading.origin.name} (before it was rotated)"
            for line in (*(seen.line for seen in reading.all_seen()), *reading.lasts.values()):
                line.file = name
            if reading.last is not None:
                reading.last.file = name
            reading.origin = structs.replace(reading.origin, name=name)
            self.rotated = reading
        self._begin()

    def _take(self, data: bytes) -> None:
        if not self._at and (form_of(data) is not None or binary_reason(data) is not None):
            self._unreadable = True  # compressed files and dumps do not grow; the answer reads them
            return
        self._at += len(data)
        self._mark = (self._mark + data)[-_MARK:]
        text = self._held + self._decoder.feed(data)
        end = text.rfind(b"\n") + 1
        if not end and len(text) > _LONGEST_LINE:
            end = len(text)
        self._held = text[end:]
        if not end:
            return
        if self.scan is None:
            self.scan = FileScan(self._scanner, self._origin, self._tail)
        for piece in _pieces(text[:end]):
            self.scan.feed(self._scanner.look(piece))


def _pieces(text: bytes, size: int = 1 << 20) -> Iterable[bytes]:
    at = 0
    while at < len(text):
        stop = text.find(b"\n", min(at + size, len(text) - 1)) + 1 or len(text)
        yield text[at:stop]
        at = stop


def _is_over(diagnosis: Diagnosis) -> bool:
    """Whether the job is known to have ended."""
    if diagnosis.verdict in ("matched", "ambiguous", "healthy"):
        return True
    return bool(diagnosis.attempts) and diagnosis.attempts[-1].outcome == "failed"
