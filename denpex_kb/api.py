"""The Python interface: open the knowledge base, ask it, let it diagnose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from denpex_kb.index.open import Index, open_index
from denpex_kb.model.diagnosis import Diagnosis
from denpex_kb.model.entry import Entry, Summary
from denpex_kb.model.facts import Fact
from denpex_kb.pipeline.question import diagnose_question, looks_like_log, told_facts

if TYPE_CHECKING:
    from concurrent.futures import Executor
    from threading import Event

    from denpex_kb.model.events import Seen
    from denpex_kb.pipeline.follow import Follower
    from denpex_kb.pipeline.gather import Progress
    from denpex_kb.pipeline.logs import LogDiagnoser

Paths = str | PathLike[str] | Sequence[str | PathLike[str]]


class KnowledgeBase:
    """The catalog, open for questions.

    >>> kb = KnowledgeBase.open()
    >>> kb.ask("hang first forward mixtral zero3").hypotheses[0].id
    'deepspeed-moe-zero3-leaf-modules'
    """

    def __init__(self, index: Index) -> None:
        """Take an open index; `KnowledgeBase.open` finds or compiles one."""
        self.index = index

    @classmethod
    def open(cls, catalogs: Sequence[str | PathLike[str]] = ()) -> KnowledgeBase:
        """Open the public catalog, with private ones beside it (later ones win).

        Raises:
            IndexUnusableError: no index can be opened or built.
            CatalogError: the catalog cannot be read at all.
        """
        return cls(open_index([Path(folder) for folder in catalogs]))

    def ask(self, text: str) -> Diagnosis:
        """Answer a question in words; a pasted log or traceback is recognised and diagnosed.

        Raises:
            InputError: the text is empty.
        """
        if not text.strip():
            from denpex_kb.errors import InputError

            raise InputError('the question is empty; ask e.g. denpex ask "hang first forward mixtral zero3"')
        if looks_like_log(text):
            return self._with_core(self._logs.text(text), text)
        return diagnose_question(text, self.index, self._quoted)

    def diagnose(
        self,
        paths: Paths,
        *,
        hung: bool = False,
        told: str = "",
        jobs: int | None = None,
        executor: Executor | None = None,
        progress: Progress | None = None,
        stop: Event | None = None,
    ) -> Diagnosis:
        """Diagnose log files, folders and archives of per-rank logs, stack dumps, with configs beside them.

        Args:
            paths: one path or several.
            hung: the user says that the job hangs.
            told: what else the user knows of the job, in words, e.g. "mixtral with zero3, deepspeed 0.16.9".
            jobs: threads that scan large logs; one for each processor where None.
            executor: where whole files are read instead: threads, processes, or machines that see the same paths.
            progress: is told how many bytes were read, and of how many.
            stop: when set, the reading ends, and what was read until then is diagnosed.

        Raises:
            InputError: nothing can be read there.
        """
        several = [paths] if isinstance(paths, str | PathLike) else list(paths)
        named = [Path(path) for path in several]
        facts, hung = self._told(told, hung=hung)
        diagnosis = self._logs.paths(
            named, hung=hung, told=facts, jobs=jobs, executor=executor, progress=progress, stop=stop
        )
        if not self._wants_core(diagnosis):
            return diagnosis
        from denpex_kb.pipeline.core import read_core
        from denpex_kb.read.prefixes import PrefixReader

        return read_core(diagnosis, named, PrefixReader(self.index.kb.prefixes))

    def diagnose_stream(
        self, chunks: Iterable[bytes], name: str = "standard input", *, hung: bool = False, told: str = ""
    ) -> Diagnosis:
        """Diagnose a stream of bytes, such as standard input.

        Args:
            chunks: the bytes.
            name: what the stream is called on the screen.
            hung: the user says that the job hangs.
            told: what else the user knows of the job, in words.

        Raises:
            InputError: the stream is empty or no text.
        """
        facts, hung = self._told(told, hung=hung)
        return self._logs.stream(chunks, name, hung=hung, told=facts)

    def _told(self, words: str, *, hung: bool) -> tuple[list[Fact], bool]:
        """Return what a user's words state, and whether the job hangs."""
        facts = told_facts(words, self.index) if words.strip() else []
        return facts, hung or any(fact.name == "symptom" and fact.value == "hang" for fact in facts)

    def follow(self, paths: Paths, *, stall: float = 600.0, hung: bool = False, told: str = "") -> Follower:
        """Watch logs that grow: `.run(stop)` returns a diagnosis when the job has failed, has ended or stalls.

        Args:
            paths: one path or several.
            stall: seconds in which nothing is written, that count as a stall.
            hung: the user says already that the job hangs.
            told: what else the user knows of the job, in words.

        Raises:
            InputError: a path does not exist.
        """
        from denpex_kb.pipeline.follow import Follower
        from denpex_kb.read.paths import PathReader

        named = [Path(path) for path in ([paths] if isinstance(paths, str | PathLike) else list(paths))]
        return Follower(
            self._logs,
            PathReader(self.index.kb.paths),
            named,
            lambda hangs: self.diagnose(named, hung=hangs, told=told),
            stall=stall,
            hung=hung,
        )

    def entry(self, entry_id: str) -> Entry:
        """Return an entry by id or alias.

        Raises:
            UnknownEntryError: no entry has that id.
        """
        return self.index.entry(entry_id)

    def entries(self) -> list[Summary]:
        """Return a summary of every entry."""
        return self.index.summaries()

    def signatures_in(self, text: str) -> dict[str, dict[str, tuple[int, ...]]]:
        """Return which signatures a text matches, whatever follows from that: entry → signature → lines, from 1."""
        patterns = self.index.rules.patterns
        found: dict[str, dict[str, tuple[int, ...]]] = {}
        for entry, seen in self._quoted(text).items():
            names = found.setdefault(entry, {})
            for item in seen:
                for pattern in (patterns[match.pattern] for match in item.matches):
                    if pattern.target == "signature" and pattern.owner == entry:
                        names[pattern.name] = (*names.get(pattern.name, ()), item.line.number)
        return found

    def _wants_core(self, diagnosis: Diagnosis) -> bool:
        """Say whether the traceback itself tells more than the answer does."""
        best = diagnosis.hypotheses[0].id if diagnosis.hypotheses else None
        return diagnosis.first_error is not None and (best is None or best in self.index.rules.generic)

    def _with_core(self, diagnosis: Diagnosis, text: str) -> Diagnosis:
        if not self._wants_core(diagnosis) or diagnosis.first_error is None:
            return diagnosis
        from denpex_kb.pipeline.core import add_core, lines_before
        from denpex_kb.read.prefixes import PrefixReader

        lines = lines_before((text.encode("utf-8", "replace"),), diagnosis.first_error.line)
        return add_core(diagnosis, lines, PrefixReader(self.index.kb.prefixes))

    def _quoted(self, text: str) -> dict[str, list[Seen]]:
        return self._logs.signature_hits(text)

    @cached_property
    def _logs(self) -> LogDiagnoser:
        from denpex_kb.pipeline.logs import LogDiagnoser  # loads Hyperscan, which a plain question does not need

        return LogDiagnoser(self.index)
