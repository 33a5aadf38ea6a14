"""Logs, stacks and configs → a diagnosis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from denpex_kb.derive.attempts import number_attempts
from denpex_kb.derive.began import Began, who_began
from denpex_kb.derive.blocks import group_blocks
from denpex_kb.derive.clocks import Clocks
from denpex_kb.derive.course import Sources, course_of
from denpex_kb.derive.incidents import split
from denpex_kb.derive.located import Located
from denpex_kb.derive.models import derive_model_facts
from denpex_kb.derive.progress import overtaken_lines, run_state
from denpex_kb.derive.ranks import Ranks, assign_ranks
from denpex_kb.derive.relations import relations_of
from denpex_kb.derive.scene import build_scene, last_lines, learn_skew
from denpex_kb.derive.states import rank_states, silent_ranks
from denpex_kb.derive.steps import step_relations
from denpex_kb.derive.strangers import drop_strangers
from denpex_kb.errors import InputError
from denpex_kb.index.open import Index
from denpex_kb.match.evidence import collect_hits
from denpex_kb.match.logs import Grounds, Place
from denpex_kb.model.diagnosis import Diagnosis, InputInfo
from denpex_kb.model.events import Origin, Reading, Seen
from denpex_kb.model.facts import Fact, FactSet
from denpex_kb.pipeline.assemble import Piece, Pieces, assemble
from denpex_kb.pipeline.dumps import Dumps
from denpex_kb.read.configs import MAX_SIZE, looks_like_config, read_config
from denpex_kb.read.files import InputFile, binary_reason, collect, read_chunks, unpacked_stream
from denpex_kb.read.paths import PathReader
from denpex_kb.read.prefixes import PrefixReader
from denpex_kb.read.scan import Scanner
from denpex_kb.read.timestamps import TimeReader


class Examined(Struct, frozen=True):
    """An input that was read and put in order; `assemble` makes the diagnosis of it."""

    pieces: tuple[Pieces, ...]
    info: InputInfo
    facts: FactSet
    ranks: Ranks
    readings: tuple[Reading, ...]


class LogDiagnoser:
    """Diagnoses logs with one open index; what it compiles is used for every input."""

    def __init__(self, index: Index) -> None:
        """Keep the index."""
        self._index = index

    @cached_property
    def scanner(self) -> Scanner:
        """The scanner over all patterns."""
        kb = self._index.kb
        return Scanner(self._index.rules, self._index.database, PrefixReader(kb.prefixes), TimeReader(kb.times))

    def paths(self, paths: Sequence[Path], *, hung: bool = False) -> Diagnosis:
        """Diagnose files and folders.

        Raises:
            InputError: nothing can be read under these paths.
        """
        files, notes = collect(paths)
        by_path = PathReader(self._index.kb.paths)
        readings: list[Reading] = []
        facts: list[Fact] = []
        dumps = self._dumps()
        for file in files:
            reading = self._file(file, by_path.read(file.name), facts, notes, dumps)
            if reading is not None:
                readings.append(reading)
        if not any(reading.lines for reading in readings):
            if facts:
                raise InputError("only configs were given, no log; a log or a stack dump is needed for a diagnosis")
            raise InputError(
                f"{', '.join(map(str, paths))}: nothing in there can be read as a log"
                + "".join(f"\n  {note}" for note in notes)
            )
        kind = "logs" if len(readings) > 1 else "log"
        return self._diagnose(readings, facts, notes, kind, dumps, hung=hung)

    def examine(self, paths: Sequence[Path], texts: Mapping[str, str], *, hung: bool = False) -> Examined:
        """Read files, folders and pasted texts as one input, up to where the entries are ranked.

        Args:
            paths: files and folders; there may be none.
            texts: a name → a pasted log, stack dump or config.
            hung: the user says that the job hangs.

        Raises:
            InputError: nothing of it can be read.
        """
        files, notes = collect(paths) if paths else ([], [])
        by_path = PathReader(self._index.kb.paths)
        readings: list[Reading] = []
        facts: list[Fact] = []
        dumps = self._dumps()
        for file in files:
            reading = self._file(file, by_path.read(file.name), facts, notes, dumps)
            if reading is not None:
                readings.append(reading)
        for name, text in texts.items():
            stated = read_config(text, name, self._index.kb, named=True) if len(text) < MAX_SIZE else None
            if stated:
                facts += stated
                continue
            opened = dumps.open((text.encode("utf-8", "replace"),), Origin(name), notes)
            if opened is not None:
                readings.append(self.scanner.scan(opened[0], opened[1]))
                dumps.close(readings[-1])
        if not any(reading.lines for reading in readings) and not facts:
            raise InputError("nothing in there can be read as a log" + "".join(f"\n  {note}" for note in notes))
        kind = "logs" if len(readings) > 1 else "log"
        return self._examine(readings, facts, notes, kind if paths else "text", dumps, hung=hung)

    def text(self, text: str, name: str = "pasted text", *, hung: bool = False) -> Diagnosis:
        """Diagnose a pasted log or traceback."""
        return self.stream((text.encode("utf-8", "surrogateescape"),), name, hung=hung)

    def stream(self, chunks: Iterable[bytes], name: str = "standard input", *, hung: bool = False) -> Diagnosis:
        """Diagnose a stream of bytes.

        Raises:
            InputError: the stream is empty or no text.
        """
        notes: list[str] = []
        dumps = self._dumps()
        opened = dumps.open(unpacked_stream(chunks), Origin(name), notes)
        if opened is None:
            raise InputError(notes[-1])
        reading = self.scanner.scan(_checked(opened[0], name), opened[1])
        if not reading.lines:
            raise InputError(f"{name}: empty; nothing to diagnose")
        dumps.close(reading)
        return self._diagnose([reading], [], notes, "text", dumps, hung=hung)

    def signature_hits(self, text: str) -> dict[str, list[Seen]]:
        """Return which entries' signatures a text matches (a question may quote a message)."""
        reading = self.scanner.scan((text.encode("utf-8", "replace"),), Origin("your question"))
        return {
            entry: [seen for lines in names.values() for seen in lines]
            for entry, names in collect_hits(reading.seen, self._index.rules).items()
        }

    def _dumps(self) -> Dumps:
        return Dumps(self._index.rules, PrefixReader(self._index.kb.prefixes))

    def _file(
        self, file: InputFile, origin: Origin, facts: list[Fact], notes: list[str], dumps: Dumps
    ) -> Reading | None:
        opened = dumps.open(read_chunks(file.path, notes), origin, notes)
        if opened is None:
            return None
        chunks, origin = iter(opened[0]), opened[1]
        first = next(chunks, b"")
        if not first:
            if file.named:
                notes.append(f"{file.name}: empty")
            return Reading(origin)
        reason = binary_reason(first)
        if reason is not None:
            notes.append(f"{file.name}: {reason}; passed over")
            return None
        if looks_like_config(file.name) and len(first) < MAX_SIZE:
            stated = read_config(first.decode("utf-8", "replace"), file.name, self._index.kb, named=file.named)
            if stated is not None:
                facts += stated
                return None
        reading = self.scanner.scan(_chain(first, chunks), origin)
        dumps.close(reading)
        return reading

    def _diagnose(
        self,
        readings: list[Reading],
        config_facts: list[Fact],
        notes: list[str],
        kind: str,
        dumps: Dumps,
        *,
        hung: bool,
    ) -> Diagnosis:
        found = self._examine(readings, config_facts, notes, kind, dumps, hung=hung)
        return assemble(found.pieces, found.info, found.facts, found.ranks, self._index)

    def _examine(
        self,
        readings: list[Reading],
        config_facts: list[Fact],
        notes: list[str],
        kind: str,
        dumps: Dumps,
        *,
        hung: bool,
    ) -> Examined:
        index, rules = self._index, self._index.rules
        facts = FactSet(fact for reading in readings for fact in reading.facts)
        for fact in (*config_facts, *dumps.facts):
            facts.add(fact)
        derive_model_facts(facts, index.kb)
        clocks = Clocks(readings)
        group_blocks(readings, rules)
        attempts = number_attempts(readings, rules, clocks)
        ranks = assign_ranks(readings, rules, facts)
        learn_skew(readings, rules, clocks)
        meanings = {mark.id: mark.note or "" for mark in index.kb.marks}
        located = dumps.locate(readings, meanings, ranks.world_size, attempts - 1)
        notes += drop_strangers(readings, dumps.processes, ranks.world_size, rules)
        pieces: list[Pieces] = []
        for number in range(attempts):
            dumped = located if number == attempts - 1 else None
            earlier = [piece.began for piece in pieces]
            pieces.append(self._attempt(number, readings, facts, ranks, clocks, meanings, earlier, dumped, hung=hung))
        info = InputInfo(
            kind,
            len(readings),
            sum(reading.size for reading in readings),
            ranks.known,
            ranks.world_size,
            sum(reading.lines for reading in readings),
            tuple(notes),
        )
        return Examined(tuple(pieces), info, facts, ranks, tuple(readings))

    def _attempt(
        self,
        number: int,
        readings: list[Reading],
        facts: FactSet,
        ranks: Ranks,
        clocks: Clocks,
        meanings: dict[str, str],
        earlier: list[Began],
        located: Located | None,
        *,
        hung: bool,
    ) -> Pieces:
        """Conclude what began and what followed in one attempt, and rank the entries for each of its incidents.

        Only of the last attempt there may be dumps, and states of the ranks are told of it alone.
        """
        rules = self._index.rules
        seen = [item for reading in readings for item in reading.seen if item.line.attempt == number]
        progress = [item for reading in readings for item in reading.progress if item.line.attempt == number]
        overtaken = overtaken_lines(seen, progress, rules)
        scene = build_scene(readings, seen, progress, rules, ranks, clocks, overtaken, meanings, number)
        scene = located.enter(scene) if located is not None else scene
        began = who_began(scene)
        relations = relations_of(scene, began, earlier)
        failed = began.event.seen.line if began.event is not None else None
        relations |= {relation.name: relation for relation in step_relations(progress, failed)}
        state = run_state(readings, seen, progress, rules, began, number, clocks, hung=hung)
        state = located.tell(state, hung=hung) if located is not None else state
        if state.outcome == "stalled":
            facts = facts.copy()
            facts.add(Fact("symptom", "hang", "question" if hung else "derived", text=state.why))
        cases = tuple(
            Piece(grounds.rank(rules), case.began, grounds)
            for case in split(scene, began, seen)
            for grounds in [
                Grounds(collect_hits(case.seen, rules), facts, relations, _place(case.began), overtaken),
            ]
        )
        states = rank_states(scene, began, relations, seen, state.last_progress, rules)
        lasts = last_lines(readings, number)
        begun = [case.began for case in cases]
        course = course_of(Sources(scene, begun, states, seen, progress, lasts, located, rules))
        silent = silent_ranks(scene, relations)
        return Pieces(number, cases, state, relations, states, silent, located is not None, course)


def _place(began: Began) -> Place:
    events = [event for event in (began.event, *began.alike) if event is not None]
    return Place(
        frozenset((event.seen.line.file, event.seen.line.number) for event in events),
        frozenset(event.seen.block for event in events if event.seen.block >= 0),
        bool(events),
    )


def _chain(first: bytes, rest: Iterable[bytes]) -> Iterable[bytes]:
    yield first
    yield from rest


def _checked(chunks: Iterable[bytes], name: str) -> Iterable[bytes]:
    iterator = iter(chunks)
    first = next(iterator, b"")
    reason = binary_reason(first)
    if reason is not None:
        raise InputError(f"{name}: {reason}")
    return _chain(first, iterator) if first else ()
