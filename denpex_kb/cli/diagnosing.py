"""Reading for `denpex diagnose`: a bar while it takes long, and what was found so far when it is interrupted."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event, current_thread, main_thread
from types import FrameType
from typing import IO, TYPE_CHECKING

from denpex_kb.cli.console import err

if TYPE_CHECKING:
    from denpex_kb.api import KnowledgeBase
    from denpex_kb.model.diagnosis import Diagnosis

_PATIENCE = 1.0  # seconds without a bar
_BETWEEN = 0.1  # seconds between two drawings of it
_WIDTH = 30


def read_paths(
    kb: KnowledgeBase, paths: Sequence[Path], jobs: int | None, *, hung: bool, told: str = ""
) -> tuple[Diagnosis, bool]:
    """Diagnose files and folders; returns the diagnosis, and whether the reading was interrupted."""
    bar = Bar(sys.stderr)
    with interruptible() as stop:
        diagnosis = _or_interrupted(
            lambda: kb.diagnose(paths, hung=hung, told=told, jobs=jobs, progress=bar.told, stop=stop), stop, bar
        )
        return diagnosis, stop.is_set()


def read_pipe(kb: KnowledgeBase, *, hung: bool, told: str = "") -> tuple[Diagnosis, bool]:
    """Diagnose standard input likewise."""
    bar = Bar(sys.stderr)
    waiting = Event()
    with interruptible(waiting) as stop:
        diagnosis = _or_interrupted(lambda: kb.diagnose_stream(_piped(stop, waiting), hung=hung, told=told), stop, bar)
        return diagnosis, stop.is_set()


def follow(
    kb: KnowledgeBase, paths: Sequence[Path], stall: float, *, hung: bool, told: str = ""
) -> tuple[Diagnosis, bool]:
    """Watch logs until the job fails, stalls or ends."""
    follower = kb.follow(paths, stall=stall, hung=hung, told=told)
    err(f"denpex: following {follower.watched}; Ctrl-C ends it and prints what was seen")
    bar = Bar(sys.stderr)
    with interruptible() as stop:
        diagnosis = _or_interrupted(lambda: follower.run(stop), stop, bar)
        return diagnosis, stop.is_set()


def _or_interrupted(work: Callable[[], Diagnosis], stop: Event, bar: Bar) -> Diagnosis:
    """Do the work; where it is interrupted before anything was found, that is an interruption and no bad input."""
    from denpex_kb.errors import InputError

    try:
        return work()
    except InputError:
        if stop.is_set():
            raise KeyboardInterrupt from None
        raise
    finally:
        bar.clear()


def _piped(stop: Event, waiting: Event) -> Iterator[bytes]:
    read = getattr(sys.stdin.buffer, "read1", sys.stdin.buffer.read)  # what is there already is not lost
    while not stop.is_set():
        try:
            waiting.set()
            chunk = read(1 << 20)
        except KeyboardInterrupt:
            stop.set()
            return
        finally:
            waiting.clear()
        if not chunk:
            return
        yield chunk


@contextlib.contextmanager
def interruptible(waiting: Event | None = None) -> Iterator[Event]:
    """Let the first Ctrl-C set an event, and any further one interrupt.

    Args:
        waiting: set while the work waits for input, perhaps for ever: then the first one interrupts that too.
    """
    stop = Event()
    if current_thread() is not main_thread():
        yield stop
        return

    def interrupted(_number: int, _frame: FrameType | None) -> None:
        again = stop.is_set()
        stop.set()
        if again or (waiting is not None and waiting.is_set()):
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


class Bar:
    """A bar on standard error, drawn only on a terminal and only where the reading takes more than a moment."""

    def __init__(self, stream: IO[str], clock: Callable[[], float] = time.monotonic) -> None:
        """Begin to wait.

        Args:
            stream: where it is drawn.
            clock: tells the time in seconds.
        """
        self._stream = stream
        self._clock = clock
        self._wanted = stream.isatty()
        self._next = clock() + _PATIENCE
        self._drawn = 0

    def told(self, done: int, total: int) -> None:
        """Hear how far the reading is, in bytes."""
        if not self._wanted or (now := self._clock()) < self._next or total <= 0:
            return
        self._next = now + _BETWEEN
        share = min(done / total, 1.0)
        filled = round(share * _WIDTH)
        text = f"reading [{'#' * filled}{'.' * (_WIDTH - filled)}] {share:4.0%} of {_amount(total)}"
        self._stream.write("\r" + text.ljust(self._drawn))
        self._stream.flush()
        self._drawn = len(text)

    def clear(self) -> None:
        """Take the bar away."""
        if self._drawn:
            self._stream.write("\r" + " " * self._drawn + "\r")
            self._stream.flush()
            self._drawn = 0


def _amount(size: int) -> str:
    return f"{size / (1 << 30):.1f} GiB" if size >= 1 << 30 else f"{max(size >> 20, 1)} MiB"
