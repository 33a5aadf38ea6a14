"""Logs, stacks and configs → a diagnosis."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from denpex_kb.derive.attempts import number_attempts
from denpex_kb.derive.began import Began, who_began
from denpex_kb.derive.blocks import group_blocks, marks_of
from denpex_kb.derive.clocks import Clocks
from denpex_kb.derive.course import Sources, course_of
from denpex_kb.derive.incidents import split
from denpex_kb.derive.located import Located
from denpex_kb.derive.models import derive_model_facts
from denpex_kb.derive.order import stale_records
from denpex_kb.derive.outside import drop_distant, drop_other_accounts, outlived
from denpex_kb.derive.progress import overtaken_lines, run_state
from denpex_kb.derive.ranks import Ranks, assign_ranks
from denpex_kb.derive.relations import relations_of
from denpex_kb.derive.scene import build_scene, last_lines, learn_skew
from denpex_kb.derive.states import rank_states, silent_ranks
from denpex_kb.derive.steps import step_relations
from denpex_kb.derive.strangers import drop_strangers
from denpex_kb.derive.zones import learn_zones
from denpex_kb.errors import InputError
from denpex_kb.index.open import Index
from denpex_kb.match.evidence import collect_hits
from denpex_kb.match.logs import Grounds, Place
from denpex_kb.model.diagnosis import Diagnosis, InputInfo
from denpex_kb.model.events import Origin, Reading, Seen
from denpex_kb.model.facts import Fact, FactSet
from denpex_kb.pipeline.assemble import Piece, Pieces, assemble
from denpex_kb.pipeline.dumps import locate_dumps, processes_of
from denpex_kb.pipeline.gather import Gathering, Progress
from denpex_kb.pipeline.reading import FileRead, FileReader, dumps_of, merged
from denpex_kb.read.configs import MAX_SIZE, read_config
from denpex_kb.read.files import Part, collect, stream_parts
from denpex_kb.read.scan import Scanner

if TYPE_CHECKING:
    from concurrent.futures import Executor
    from threading import Event


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
    def reader(self) -> FileReader:
        """The reader of files."""
        return FileReader(self._index)

    @property
    def scanner(self) -> Scanner:
        """The scanner over all patterns."""
        return self.reader.scanner

    def paths(
        self,
        paths: Sequence[Path],
        *,
        hung: bool = False,
        told: Sequence[Fact] = (),
        jobs: int | None = None,
        executor: Executor | None = None,
        progress: Progress | None = None,
        stop: Event | None = None,
    ) -> Diagnosis:
        """Diagnose files and folders, with what the user says of the job; the rest is said as for `Gathering`.

        Raises:
            InputError: nothing can be read under these paths.
        """
        files, notes = collect(paths)
        gathering = Gathering(self.reader, self._index.path, jobs=jobs, executor=executor, progress=progress, stop=stop)
        reads, facts, more = merged(gathering.read(files))
        notes += more
        if not any(item.reading is not None and item.reading.lines for item in reads):
            if facts:
                raise InputError("only configs were given, no log; a log or a stack dump is needed for a diagnosis")
            raise InputError(
                f"{', '.join(map(str, paths))}: nothing in there can be read as a log"
                + "".join(f"\n  {note}" for note in notes)
            )
        facts += told
        return self.diagnosis(reads, facts, notes, "logs" if len(reads) > 1 else "log", hung=hung)

    def examine(
        self,
        paths: Sequence[Path],
        texts: Mapping[str, str],
        *,
        hung: bool = False,
        without: Collection[str] = (),
    ) -> Examined:
        """Read files, folders and pasted texts as one input, up to where the entries are ranked.

        Args:
            paths: files and folders; there may be none.
            texts: a name → a pasted log, stack dump or config.
            hung: the user says that the job hangs.
            without: names of files that a text takes the place of.

        Raises:
            InputError: nothing of it can be read.
        """
        files, notes = collect(paths) if paths else ([], [])
        files = [file for file in files if file.name not in without]
        reads, facts, more = merged(Gathering(self.reader, self._index.path).read(files))
        notes += more
        for name, text in texts.items():
            told = read_config(text, name, self._index.kb, named=True) if len(text) < MAX_SIZE else None
            if told:
                facts += told
                continue
            data = text.encode("utf-8", "replace")
            pasted, stated, more = merged([self.reader.part(Part(name, True, iter((data,))), iter((data,)))])
            reads += pasted
            facts += stated
            notes += more
        if not any(item.reading is not None and item.reading.lines for item in reads) and not facts:
            raise InputError("nothing in there can be read as a log" + "".join(f"\n  {note}" for note in notes))
        kind = "logs" if len(reads) > 1 else "log"
        return self._examined(reads, facts, notes, kind if paths else "text", hung=hung)

    def text(self, text: str, name: str = "pasted text", *, hung: bool = False) -> Diagnosis:
        """Diagnose a pasted log or traceback."""
        return self.stream((text.encode("utf-8", "surrogateescape"),), name, hung=hung)

    def stream(
        self,
        chunks: Iterable[bytes],
        name: str = "standard input",
        *,
        hung: bool = False,
        told: Sequence[Fact] = (),
    ) -> Diagnosis:
        """Diagnose a stream of bytes: a log, compressed or not, or a tar of logs.

        Raises:
            InputError: the stream is empty or no text.
        """
        notes: list[str] = []
        held = [self.reader.part(part, part.chunks) for part in stream_parts(chunks, name, notes)]
        reads, facts, more = merged(held)
        notes += more
        if not any(item.reading is not None and item.reading.lines for item in reads):
            raise InputError(_nothing(name, notes))
        facts += told
        kind = "logs" if len(reads) > 1 else "text"
        return self.diagnosis(reads, facts, notes, kind, hung=hung)

    def signature_hits(self, text: str) -> dict[str, list[Seen]]:
        """Return which entries' signatures a text matches (a question may quote a message)."""
        reading = self.scanner.scan((text.encode("utf-8", "replace"),), Origin("your question"))
        return {
            entry: [seen for lines in names.values() for seen in lines]
            for entry, names in collect_hits(reading.seen, self._index.rules).items()
        }

    def diagnosis(
        self,
        reads: Sequence[FileRead],
        config_facts: Iterable[Fact],
        notes: Sequence[str],
        kind: str,
        *,
        hung: bool,
    ) -> Diagnosis:
        """Conclude from what was read.

        Args:
            reads: the logs.
            config_facts: what configs beside them state.
            notes: what was left out, and why.
            kind: what the input is called.
            hung: the user says that the job hangs.
        """
        found = self._examined(reads, config_facts, notes, kind, hung=hung)
        return assemble(found.pieces, found.info, found.facts, found.ranks, self._index)

    def _examined(
        self,
        reads: Sequence[FileRead],
        config_facts: Iterable[Fact],
        notes: Sequence[str],
        kind: str,
        *,
        hung: bool,
    ) -> Examined:
        index, rules = self._index, self._index.rules
        readings = [item.reading for item in reads if item.reading is not None]
        dumps = dumps_of(reads)
        facts = FactSet(fact for reading in readings for fact in reading.facts)
        for fact in (*config_facts, *(fact for dump, _ in dumps for fact in dump.facts)):
            facts.add(fact)
        derive_model_facts(facts, index.kb)
        clocks = Clocks(readings)
        notes = [*notes, *drop_distant(readings, clocks, rules), *drop_other_accounts(readings, rules)]
        group_blocks(readings, rules)
        attempts = number_attempts(readings, rules, clocks)
        ranks = assign_ranks(readings, rules, facts)
        learn_zones(readings, ranks, clocks)
        learn_skew(readings, rules, clocks)
        meanings = {mark.id: mark.note or "" for mark in index.kb.marks}
        located = locate_dumps(dumps, readings, rules, meanings, ranks.world_size, attempts - 1)
        notes = [*notes, *drop_strangers(readings, processes_of(dumps), ranks.world_size, rules)]
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
        overtaken |= dict.fromkeys(outlived(seen, progress, rules), True)
        progress = [item for item in progress if "progress" in marks_of(item, rules)]
        scene = build_scene(readings, seen, progress, rules, ranks, clocks, overtaken, meanings, number)
        scene = located.enter(scene) if located is not None else scene
        began = who_began(scene)
        overtaken |= dict.fromkeys(stale_records(scene.events, began.event), True)
        relations = relations_of(scene, began, earlier)
        failed = began.event.seen.line if began.event is not None else None
        relations |= {relation.name: relation for relation in step_relations(progress, failed)}
        state = run_state(readings, seen, progress, rules, began, number, clocks, hung=hung, still=scene.still)
        state = located.tell(state, hung=hung) if located is not None else state
        if state.outcome == "stalled":
            facts = facts.copy()
            for name, value in (("symptom", "hang"), ("progress", False)):
                facts.add(Fact(name, value, "question" if hung else "derived", text=state.why))
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


def _nothing(name: str, notes: Sequence[str]) -> str:
    """Say why a stream cannot be diagnosed."""
    said = [note for note in notes if not note.endswith(": empty")]
    return said[-1].removesuffix("; passed over") if said else f"{name}: empty; nothing to diagnose"
