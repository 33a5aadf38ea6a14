"""Stack dumps and flight-recorder traces among the inputs: made readable for the scan, and kept for comparison."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from msgspec import Struct, structs

from denpex_kb.derive.located import Located, locate
from denpex_kb.model.events import Origin, Reading
from denpex_kb.model.facts import Fact
from denpex_kb.model.flight import Trace
from denpex_kb.model.rules import RuleSet
from denpex_kb.model.stacks import Process
from denpex_kb.read.flight import LIMIT as TRACE_LIMIT
from denpex_kb.read.flight import Flight, RefusedError, looks_like_trace, read_flight
from denpex_kb.read.stacks import LIMIT as STACK_LIMIT
from denpex_kb.read.stacks import StackReader, is_json_dump, json_dump_as_text

_HEAD = 12  # lines above the first stack of a file that is a dump


class Dump(Struct):
    """What the dump in one file shows; empty where the file is none."""

    facts: list[Fact] = []
    processes: list[Process] = []
    traces: list[Trace] = []
    whole: bool = False  # the file is nothing but a dump


class DumpReader:
    """Reads the dump that one file may be or hold: opened before the scan, closed behind it."""

    def __init__(self, reader: StackReader) -> None:
        """Take what reads stacks."""
        self._reader = reader
        self._end = _End()
        self.dump = Dump()

    def open(self, chunks: Iterable[bytes], origin: Origin, notes: list[str]) -> tuple[Iterable[bytes], Origin] | None:
        """Return what is to be scanned of a file: the file, or a dump of it as text; None where it is refused."""
        iterator = iter(chunks)
        first = next(iterator, b"")
        self._end = _End()
        self.dump = Dump()
        if looks_like_trace(first):
            first = _join(first, iterator, TRACE_LIMIT)
            try:
                flight = read_flight(first, origin.name, origin.rank)
            except RefusedError as error:
                notes.append(f"{origin.name}: not read as a trace: {error}")
                return None
            if flight is not None:
                return self._trace(flight, origin, notes)
        elif is_json_dump(first):
            first = _join(first, iterator, STACK_LIMIT)
            text = json_dump_as_text(first)
            first = text if text is not None else first
        return self._end.keep(chain((first,), iterator) if first else ()), origin

    def close(self, reading: Reading) -> Dump:
        """Read the stacks of the file that was just scanned, and give its lines their ranks."""
        dump = self.dump
        if reading.origin.kind == "flight":
            dump.whole = True
        elif self._reader.has_stacks(reading):
            lines, chunks = self._end.take(reading.lines)
            dump.processes = self._reader.read(reading, chunks, lines)
            dump.whole = bool(dump.processes) and dump.processes[0].first <= _HEAD
        return dump

    def _trace(self, flight: Flight, origin: Origin, notes: list[str]) -> tuple[Iterable[bytes], Origin]:
        self.dump = Dump(facts=list(flight.facts), traces=list(flight.traces))
        known = [trace.rank for trace in flight.traces]
        notes += [
            f"{origin.name}: a trace of an unknown rank; name the file after its rank" for rank in known if rank is None
        ]
        origin = structs.replace(origin, rank=known[0] if len(known) == 1 else None, kind="flight")
        return (flight.text or b"\n",), origin


def processes_of(dumps: Iterable[tuple[Dump, Reading]]) -> list[Process]:
    """Return the processes that the dumps show."""
    return [process for dump, _ in dumps for process in dump.processes]


def locate_dumps(
    dumps: Sequence[tuple[Dump, Reading]],
    readings: Sequence[Reading],
    rules: RuleSet,
    notes: Mapping[str, str],
    world_size: int | None,
    attempt: int,
) -> Located:
    """Compare what all dumps show; they were taken of the attempt that ran last."""
    for dump, reading in dumps:
        if not dump.whole:
            continue
        for seen in reading.seen:
            seen.line.attempt = attempt
        if reading.last is not None:
            reading.last.attempt = attempt
    processes = processes_of(dumps)
    traces = [trace for dump, _ in dumps for trace in dump.traces]
    return locate(processes, traces, readings, rules, notes, world_size)


class _End:
    """The last part of a stream, kept while it is scanned: a dump stands at the end of a log or is the whole file."""

    def __init__(self) -> None:
        self._held: deque[bytes] = deque()
        self._size = 0

    def keep(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Pass the stream on."""
        for chunk in chunks:
            self._held.append(chunk)
            self._size += len(chunk)
            while self._size > STACK_LIMIT and len(self._held) > 1:
                self._size -= len(self._held.popleft())
            yield chunk

    def take(self, lines: int) -> tuple[int, Iterable[bytes]]:
        """Return how many of all lines stand in front, and the bytes."""
        held, self._held = self._held, deque()
        own = sum(chunk.count(b"\n") for chunk in held) + bool(held and not held[-1].endswith(b"\n"))
        return max(lines - own, 0), held


def _join(first: bytes, rest: Iterable[bytes], limit: int) -> bytes:
    parts, size = [first], len(first)
    for chunk in rest:
        parts.append(chunk)
        size += len(chunk)
        if size > limit:
            break
    return b"".join(parts)
