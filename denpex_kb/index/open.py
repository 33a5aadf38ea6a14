"""Open the index: the packaged one, or one compiled from the folders and cached."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec

from denpex_kb.errors import IndexUnusableError, UnknownEntryError
from denpex_kb.index.concepts import Lexicon, Reader
from denpex_kb.index.places import Sources, cache_folder, packaged_index, public_sources, temporary_cache
from denpex_kb.index.textindex import Posting, Sentences
from denpex_kb.model.entry import Entry, Summary
from denpex_kb.model.kb import Kb
from denpex_kb.model.rules import Rule, RuleSet, ScanPattern

if TYPE_CHECKING:
    import hyperscan

SCHEMA = "denpex.index/3"
_QUESTION_WORDS = 60  # words of a question in which a quoted message is looked for
_LONGEST_QUOTE = 6  # words in a row
_UNREADABLE = (sqlite3.DatabaseError, msgspec.DecodeError, msgspec.ValidationError)


class Index:
    """An open index; everything is read on first use."""

    def __init__(self, path: Path, notices: Sequence[str] = (), *, immutable: bool = False) -> None:
        """Open an index file.

        Raises:
            sqlite3.DatabaseError: the file is no index, or damaged.
        """
        self.path = path
        self.notices = list(notices)
        self._postings: dict[str, Posting | None] = {}
        mode = "mode=ro&immutable=1" if immutable else "mode=ro"
        self._database = sqlite3.connect(f"file:{quote(str(path))}?{mode}", uri=True, check_same_thread=False)
        try:
            if self.meta("schema") != SCHEMA:
                raise sqlite3.DatabaseError("the index is of another version")
            left_out = msgspec.json.decode(self.meta("left_out") or "[]")
        except BaseException:
            self._database.close()
            raise
        self.notices += [f"left out: {finding}" for finding in left_out]

    def __del__(self) -> None:
        """Close the file when nobody uses the index any more."""
        database = getattr(self, "_database", None)
        if database is not None:
            database.close()

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def meta(self, key: str) -> str | None:
        """Return a line of the index's own description."""
        row = self._database.execute("select value from meta where key = ?", (key,)).fetchone()
        return str(row[0]) if row else None

    def _blob(self, name: str) -> bytes:
        row = self._database.execute("select data from blob where name = ?", (name,)).fetchone()
        if row is None:
            raise sqlite3.DatabaseError(f"the index holds no {name}")
        return bytes(row[0])

    @cached_property
    def by_id(self) -> dict[str, Rule]:
        """The rules of all entries; a question needs no patterns."""
        return {rule.id: rule for rule in msgspec.msgpack.decode(self._blob("rules"), type=tuple[Rule, ...])}

    @cached_property
    def rules(self) -> RuleSet:
        """The rules and patterns of all entries."""
        patterns = msgspec.msgpack.decode(self._blob("patterns"), type=tuple[ScanPattern, ...])
        return RuleSet(tuple(self.by_id.values()), patterns)

    @cached_property
    def kb(self) -> Kb:
        """The shared knowledge."""
        return msgspec.msgpack.decode(self._blob("kb"), type=Kb)

    @cached_property
    def lexicon(self) -> Lexicon:
        """The vocabulary of questions."""
        return msgspec.msgpack.decode(self._blob("lexicon"), type=Lexicon)

    @cached_property
    def reader(self) -> Reader:
        """The reader of questions."""
        return Reader(self.lexicon)

    @cached_property
    def database(self) -> hyperscan.Database:
        """The Hyperscan database; compiled and cached where the stored one does not fit this processor."""
        from denpex_kb.index.scandb import compile_database, dump_database, load_database

        stored = load_database(self._blob("hyperscan"))
        if stored is not None:
            return stored
        cached = cache_folder() / f"hyperscan-{(self.meta('content') or 'x')[:32]}.bin"
        with contextlib.suppress(OSError):
            own = load_database(cached.read_bytes())
            if own is not None:
                return own
        compiled = compile_database(self.rules.patterns, self.kb.common)
        with contextlib.suppress(OSError):
            write_atomically(cached, dump_database(compiled))
        return compiled

    @cached_property
    def preflight_ids(self) -> tuple[str, ...]:
        """The ids of the entries that a set-up alone can show."""
        return msgspec.json.decode(self.meta("preflight") or "[]", type=tuple[str, ...])

    @cached_property
    def size(self) -> int:
        """The number of entries."""
        return int(self._database.execute("select count(*) from entry").fetchone()[0])

    def entry(self, entry_id: str) -> Entry:
        """Return an entry by id or alias.

        Raises:
            UnknownEntryError: no entry has that id; the message names the nearest ones.
        """
        for wanted in (entry_id, self._alias(entry_id)):
            row = self._database.execute("select data from entry where id = ?", (wanted,)).fetchone()
            if row:
                return msgspec.msgpack.decode(row[0], type=Entry)
        raise UnknownEntryError(self._unknown(entry_id))

    def current_id(self, entry_id: str) -> str:
        """Return the id of the entry that an alias leads to; any other text as it is."""
        return entry_id if entry_id in self.ids() else self._alias(entry_id) or entry_id

    def _alias(self, entry_id: str) -> str | None:
        row = self._database.execute("select id from alias where alias = ?", (entry_id,)).fetchone()
        return str(row[0]) if row else None

    def _unknown(self, entry_id: str) -> str:
        from rapidfuzz import fuzz, process

        near = process.extract(entry_id, self.ids(), scorer=fuzz.WRatio, limit=4, score_cutoff=60)
        hint = f"the nearest are: {', '.join(found[0] for found in near)}" if near else "`denpex list` shows all"
        return f"no entry has the id {entry_id!r}; {hint}"

    def ids(self) -> list[str]:
        """Return every id, sorted."""
        return [row[0] for row in self._database.execute("select id from entry order by id")]

    def summaries(self) -> list[Summary]:
        """Return what a list shows of every entry, by hub and id."""
        rows = self._database.execute(
            "select id, title, hub, phase, kind, category, role, tags, frameworks, summary, frequency from entry"
            " order by hub, id"
        )
        decode = msgspec.json.Decoder(tuple[str, ...]).decode
        return [
            Summary(
                id=row[0],
                title=row[1],
                hub=row[2],
                phase=row[3],
                kind=row[4],
                category=row[5],
                role=row[6],
                tags=decode(row[7]),
                frameworks=decode(row[8]),
                summary=row[9],
                frequency=row[10],
            )
            for row in rows
        ]

    def postings(self, terms: Iterable[str]) -> dict[str, Posting]:
        """Return where each of some terms stands; those that no entry holds are left out."""
        wanted = list(dict.fromkeys(terms))
        missing = [term for term in wanted if term not in self._postings]
        if missing:
            marks = ",".join("?" * len(missing))
            query = f"select term, data from posting where term in ({marks})"  # noqa: S608 (only question marks are put in)
            self._postings.update(dict.fromkeys(missing))
            decode = msgspec.msgpack.Decoder(Posting).decode
            self._postings.update((str(term), decode(data)) for term, data in self._database.execute(query, missing))
        return {term: posting for term in wanted if (posting := self._postings[term]) is not None}

    @cached_property
    def sentences(self) -> Sentences:
        """The sentences of the text index."""
        return msgspec.msgpack.decode(self._blob("sentences"), type=Sentences)

    def quoted(self, text: str) -> dict[str, list[tuple[str, int]]]:
        """Find entries of whose messages a text quotes some words in a row.

        Returns:
            For each entry the phrases, each with the number of entries that have it; the longest first.
        """
        words = re.findall(r"[^\W_]+", text.lower())[:_QUESTION_WORDS]
        known = self._message_words(words)
        found: dict[str, list[tuple[str, int]]] = {}
        taken: set[int] = set()
        for size in range(_LONGEST_QUOTE, 1, -1):
            for start in range(len(words) - size + 1):
                span = range(start, start + size)
                if taken >= set(span) or not all(words[at] in known for at in span):
                    continue
                phrase = " ".join(words[start : start + size])
                rows = self._database.execute(
                    "select id from message_fts where message_fts match ?", (f'text : "{phrase}"',)
                ).fetchall()
                if rows:
                    taken |= set(span)
                for row in rows:
                    found.setdefault(str(row[0]), []).append((phrase, len(rows)))
        return found

    def _message_words(self, words: Sequence[str]) -> set[str]:
        marks = ",".join("?" * len(words))
        query = f"select term from message_terms where term in ({marks})"  # noqa: S608 (only question marks are put in)
        return {str(row[0]) for row in self._database.execute(query, words)}

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number by which the text index knows each entry."""
        return {entry_id: number for number, entry_id in enumerate(self.sentences.entries)}

    def spoken(self, entry_ids: Iterable[str]) -> dict[str, frozenset[str]]:
        """Return the concepts that the text of some entries speaks of, as search tokens."""
        wanted = list(entry_ids)
        marks = ",".join("?" * len(wanted))
        query = f"select id, concepts from entry where id in ({marks})"  # noqa: S608 (only question marks are put in)
        rows = self._database.execute(query, wanted)
        return {str(row[0]): frozenset(str(row[1]).split()) for row in rows}

    @cached_property
    def terms(self) -> Terms:
        """In how many entries each word of the text index stands."""
        return Terms(self._database)


class Terms(Mapping[str, int]):
    """Word → number of entries that hold it; asked for word by word, read whole only to find misspellings."""

    def __init__(self, database: sqlite3.Connection) -> None:
        """Keep the open index."""
        self._database = database
        self._known: dict[str, int] = {}

    def __getitem__(self, word: str) -> int:
        """Return the number of entries that hold a word."""
        count = self._count(word)
        if not count:
            raise KeyError(word)
        return count

    def __contains__(self, word: object) -> bool:
        """Say whether any entry holds a word."""
        return isinstance(word, str) and self._count(word) > 0

    def __iter__(self) -> Iterator[str]:
        """Go through the words whose spelling can be trusted."""
        return (str(row[0]) for row in self._database.execute("select word from word where trusted"))

    def __len__(self) -> int:
        """Count the words."""
        return int(self._database.execute("select count(*) from word where trusted").fetchone()[0])

    def _count(self, word: str) -> int:
        if word not in self._known:
            row = self._database.execute("select entries from word where word = ?", (word,)).fetchone()
            self._known[word] = int(row[0]) if row else 0
        return self._known[word]


def open_index(catalogs: Sequence[Path] = ()) -> Index:
    """Open the index over the public catalog and any private ones.

    Raises:
        IndexUnusableError: no index can be opened or built.
        CatalogError: the catalog cannot be read at all.
    """
    notices: list[str] = []
    packaged = packaged_index()
    if packaged is not None and not catalogs:
        try:
            return Index(packaged, immutable=True)
        except _UNREADABLE:
            notices.append("the packaged index is damaged; a new one was compiled")
    public = public_sources()
    sources = Sources(public.kb, (*public.catalogs, *catalogs))
    return _cached_index(sources, notices)


def _cached_index(sources: Sources, notices: list[str]) -> Index:
    import hashlib

    name = hashlib.sha256("\0".join(map(str, (sources.kb, *sources.catalogs))).encode()).hexdigest()[:16]
    file = f"index-{name}.sqlite"
    path = cache_folder() / file
    index = _fresh(path, sources, notices)
    if index is not None:
        return index
    from denpex_kb.index.build import build_index

    try:
        build_index(sources, path)
    except (OSError, sqlite3.Error) as error:  # a home whose quota is used up is no reason to give no answer
        elsewhere = temporary_cache() / file
        notices.append(
            f"cannot write the index {path}: {error}; it is kept in {elsewhere.parent} (or set DENPEX_CACHE)"
        )
        index = _fresh(elsewhere, sources, notices)
        if index is not None:
            return index
        path = elsewhere
        try:
            build_index(sources, path)
        except (OSError, sqlite3.Error) as second:
            raise IndexUnusableError(
                f"cannot write the index {path}: {second}; set DENPEX_CACHE to a writable folder"
            ) from second
    return Index(path, notices)


def _fresh(path: Path, sources: Sources, notices: list[str]) -> Index | None:
    """Open a compiled index if it is there, whole, and of these sources."""
    if not path.exists():
        return None
    try:
        index = Index(path, notices)
        if index.meta("fingerprint") == sources.fingerprint():
            _ = index.size, index.by_id  # a damaged file is noticed here, not in mid-answer
            return index
        index.close()
    except _UNREADABLE:
        notices.append(f"the index {path} was damaged or of another version; it was compiled anew")
    return None


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that readers see the old or the new one, never a part; nothing is left where that fails."""
    import os
    import tempfile

    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name + ".")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
