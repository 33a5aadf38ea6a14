"""Pieces of large logs, looked at by other processors a little before they are wanted."""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from mmap import mmap
from multiprocessing import get_context
from typing import Protocol, TypeVar

from denpex_kb.read.hits import HitLine, Scanned

Ahead = Callable[[Iterable[bytes]], Iterator[Scanned]]

_AHEAD = 8  # pieces that are under way at once
_SLOTS = _AHEAD + 1  # places of shared memory: none is filled again before what was found in it is there
_SLOT = 2 << 20  # bytes of the largest piece that is handed to another process
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux's prctl

_T = TypeVar("_T")
_Found = tuple[bool, tuple[tuple[int, int, int, tuple[int, ...]], ...], int, bool]  # Scanned, without the bytes


class Looker(Protocol):
    """What looks at pieces."""

    def look(self, piece: bytes) -> Scanned:
        """Clean a piece, and find all patterns in it."""
        ...


@contextmanager
def in_threads(looker: Looker, jobs: int) -> Iterator[Ahead]:
    """Look at pieces in threads, which share one interpreter: what is Python's own is done by one at a time."""
    with ThreadPoolExecutor(jobs, thread_name_prefix="denpex-scan") as pool:
        yield lambda pieces: _in_turn(
            pieces, looker, lambda piece: pool.submit(looker.look, piece), lambda _, found: found
        )


def can_fork() -> bool:
    """Say whether copies of this process can be started safely: not where other threads may hold locks."""
    return sys.platform == "linux" and threading.active_count() == 1


@contextmanager
def in_processes(looker: Looker, clean: Callable[[bytes], bytes], jobs: int) -> Iterator[Ahead]:
    """Look at pieces in copies of this process; only what they found goes through a pipe.

    Where they cannot be started, or die, this process does what is left.

    Args:
        looker: looks at the pieces.
        clean: makes of a piece the bytes that the looker looked at.
        jobs: how many copies.
    """
    memory = mmap(-1, _SLOTS * _SLOT)
    places = count()
    fork = get_context("fork")
    with ProcessPoolExecutor(jobs, mp_context=fork, initializer=_begin, initargs=(looker, memory)) as pool:

        def submit(piece: bytes) -> Future[_Found] | None:
            if len(piece) > _SLOT:
                return None
            at = next(places) % _SLOTS * _SLOT
            memory[at : at + len(piece)] = piece
            return pool.submit(_look_at, at, len(piece))

        def taken(piece: bytes, found: _Found) -> Scanned:
            as_is, lines, feeds, traceback = found
            return Scanned(piece if as_is else clean(piece), [HitLine(*line) for line in lines], feeds, traceback)

        yield lambda pieces: _in_turn(pieces, looker, submit, taken)


def _in_turn(
    pieces: Iterable[bytes],
    looker: Looker,
    submit: Callable[[bytes], Future[_T] | None],
    taken: Callable[[bytes, _T], Scanned],
) -> Iterator[Scanned]:
    """Go through the pieces in their order, a few of them submitted ahead."""
    waiting: deque[tuple[bytes, Future[_T] | None]] = deque()

    def first() -> Scanned:
        piece, future = waiting.popleft()
        try:
            return looker.look(piece) if future is None else taken(piece, future.result())
        except BrokenExecutor:
            return looker.look(piece)

    try:
        for piece in pieces:
            try:
                future = submit(piece)
            except (BrokenExecutor, OSError):
                future = None
            waiting.append((piece, future))
            if len(waiting) >= _AHEAD:
                yield first()
        while waiting:
            yield first()
    finally:
        for _, future in waiting:
            if future is not None:
                future.cancel()


_inherited: tuple[Looker, mmap] | None = None


def _begin(looker: Looker, memory: mmap) -> None:
    """Begin to work: end with the process that asked, which alone hears Ctrl-C."""
    global _inherited  # noqa: PLW0603
    _inherited = (looker, memory)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)


def _look_at(at: int, size: int) -> _Found:
    assert _inherited is not None
    looker, memory = _inherited
    piece = memory[at : at + size]
    found = looker.look(piece)
    return found.data is piece, tuple((*line,) for line in found.lines), found.feeds, found.traceback
