"""Entries and kb → one SQLite file with full-text index, rules and the serialized Hyperscan database."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import hyperscan
import msgspec
from msgspec import structs

from denpex_kb.catalog.findings import FileBroken, Finding
from denpex_kb.catalog.kbfiles import load_kb
from denpex_kb.catalog.literals import wordings
from denpex_kb.catalog.load import load_catalog
from denpex_kb.catalog.usable import unusable
from denpex_kb.errors import CatalogError
from denpex_kb.index import concepts
from denpex_kb.index.places import Sources
from denpex_kb.index.scandb import compile_database, dump_database
from denpex_kb.index.textindex import TextIndex
from denpex_kb.model.conditions import ConditionError, parse_condition
from denpex_kb.model.entry import Entry, Signature
from denpex_kb.model.kb import Kb, Language
from denpex_kb.model.rules import Rule, RuleSet, RuleSignature, ScanPattern

SCHEMA = "denpex.index/3"


def build_index(sources: Sources, target: Path) -> None:
    """Compile catalogs and kb into one file, put in place atomically.

    Broken entries are left out and noted in the index; the rest still works.

    Raises:
        CatalogError: the kb cannot be read, or not one entry can.
    """
    import sqlite_utils

    fingerprint = sources.fingerprint()  # before anything is read: what changes meanwhile is compiled next time
    try:
        kb = load_kb(sources.kb)
    except FileBroken as broken:
        raise CatalogError("\n".join(map(str, broken.findings))) from broken
    entries, findings = _merged(sources)
    if not entries:
        raise CatalogError("no entry can be read:\n" + "\n".join(map(str, findings)))
    rules, rule_findings = make_rules(entries, kb)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=target.name + ".")
    os.close(handle)
    try:
        database = sqlite_utils.Database(name)
        try:
            _fill(database, entries, kb, rules)
            early = sorted(entry.id for entry in entries if entry.meta.preflight is not None)
            _describe(database, sources, fingerprint, findings + rule_findings, early)
        finally:
            database.conn.close()
        Path(name).chmod(0o644)
        Path(name).replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def _merged(sources: Sources) -> tuple[list[Entry], list[Finding]]:
    """Read all catalogs; an entry of a later one replaces that of an earlier one."""
    merged: dict[str, Entry] = {}
    findings: list[Finding] = []
    for number, folder in enumerate(sources.catalogs):
        origin = "denpex" if number == 0 else str(folder)
        if not folder.is_dir():
            findings.append(Finding(str(folder), 1, "no such folder; give the folder that holds the entries"))
            continue
        loaded = load_catalog(folder, origin)
        findings += loaded.findings
        for entry in loaded.entries:
            fault = unusable(entry) if number else None  # the public catalog is checked before it is published
            if fault is not None:
                findings.append(Finding(str(loaded.files[entry.id]), 1, fault))
                continue
            before = merged.get(entry.id)
            if before is not None:
                replaced = before.origin.partition(" (")[0]
                entry = structs.replace(entry, origin=f"{origin} (in place of {replaced}'s)")  # noqa: PLW2901
            merged[entry.id] = entry
    return list(merged.values()), findings


def make_rules(entries: Iterable[Entry], kb: Kb) -> tuple[RuleSet, list[Finding]]:
    """Compile entries, marks and fact patterns into rules and the patterns of the scan."""
    rules: list[Rule] = []
    patterns: list[ScanPattern] = []
    findings: list[Finding] = []
    for entry in entries:
        try:
            rules.append(_rule(entry))
        except ConditionError as error:
            findings.append(Finding(f"{entry.origin}:{entry.id}", 1, str(error)))
            continue
        patterns += [
            ScanPattern(signature.pattern, signature.unless, signature.where, "signature", entry.id, signature.name)
            for signature in entry.meta.signatures
            if signature.pattern
        ]
    patterns += [
        ScanPattern(mark.pattern, mark.unless, "log", "mark", mark.id, mark.kind, None, mark.gives) for mark in kb.marks
    ]
    patterns += [
        ScanPattern(pattern.pattern, None, "log", "fact", fact.name, "", pattern.value)
        for fact in kb.facts
        for pattern in fact.log
    ]
    return RuleSet(tuple(rules), tuple(patterns)), findings


def _rule(entry: Entry) -> Rule:
    meta = entry.meta
    return Rule(
        id=meta.id,
        title=meta.title,
        hub=meta.hub,
        phase=meta.phase,
        kind=meta.kind,
        role=meta.role,
        standing=meta.standing,
        frequency=meta.frequency,
        parent=meta.specialises,
        signatures=tuple(map(_rule_signature, meta.signatures)),
        requires=tuple(map(parse_condition, meta.requires)),
        excludes=tuple(map(parse_condition, meta.excludes)),
        origin=entry.origin,
    )


def _rule_signature(signature: Signature) -> RuleSignature:
    body = next(
        body for body in ("pattern", "fact", "relation", "all_of", "any_of", "sequence") if getattr(signature, body)
    )
    return RuleSignature(
        signature.name,
        signature.strength,
        body,  # type: ignore[arg-type]
        signature.members,
        signature.forbidden,
        signature.within,
        parse_condition(signature.fact) if signature.fact else None,
        signature.relation,
    )


def _fill(database: Any, entries: list[Entry], kb: Kb, rules: RuleSet) -> None:
    # Hyperscan compiles outside the interpreter's lock, and takes longer than all the rest
    with ThreadPoolExecutor(1) as beside:
        _insert(database, entries, kb, rules, beside.submit(compile_database, rules.patterns, kb.common))


def _insert(database: Any, entries: list[Entry], kb: Kb, rules: RuleSet, scanner: Future[hyperscan.Database]) -> None:
    lexicon = concepts.make_lexicon(kb)
    text = TextIndex(entries, concepts.Reader(lexicon))
    rows = []
    for entry in entries:
        meta, body = entry.meta, entry.body
        rows.append(
            {
                "id": meta.id,
                "title": meta.title,
                "hub": meta.hub,
                "phase": meta.phase,
                "kind": meta.kind,
                "category": meta.category,
                "role": meta.role,
                "frequency": meta.frequency,
                "severity": meta.severity,
                "tags": msgspec.json.encode(meta.tags).decode(),
                "frameworks": msgspec.json.encode(sorted({item.framework for item in meta.affected})).decode(),
                "summary": body.summary,
                "concepts": " ".join(sorted(text.concepts[meta.id])),
                "origin": entry.origin,
                "data": msgspec.msgpack.encode(entry),
            }
        )
    database["entry"].insert_all(rows, pk="id", columns={"data": bytes})
    database["alias"].insert_all(
        ({"alias": alias, "id": entry.id} for entry in entries for alias in entry.meta.aliases),
        pk="alias",
        replace=True,
    )
    if not database["alias"].exists():
        database["alias"].create({"alias": str, "id": str}, pk="alias")
    _insert_text(database, text)
    database.execute("create virtual table message_fts using fts5(id unindexed, text, tokenize='unicode61')")
    database["message_fts"].insert_all({"id": entry.id, "text": _messages(entry)} for entry in entries)
    database.execute("create virtual table message_terms using fts5vocab(message_fts, 'row')")
    database["blob"].insert_all(
        [
            {"name": "rules", "data": msgspec.msgpack.encode(rules.rules)},
            {"name": "patterns", "data": msgspec.msgpack.encode(rules.patterns)},
            # the words live on in the lexicon
            {"name": "kb", "data": msgspec.msgpack.encode(msgspec.structs.replace(kb, words=(), language=Language()))},
            {"name": "lexicon", "data": msgspec.msgpack.encode(lexicon)},
            {"name": "sentences", "data": msgspec.msgpack.encode(text.sentences())},
            {"name": "hyperscan", "data": dump_database(scanner.result())},
        ],
        pk="name",
    )


def _describe(database: Any, sources: Sources, fingerprint: str, left_out: list[Finding], preflight: list[str]) -> None:
    database["meta"].insert_all(
        [
            {"key": "schema", "value": SCHEMA},
            {"key": "content", "value": sources.content_hash()},
            {"key": "fingerprint", "value": fingerprint},
            {"key": "preflight", "value": msgspec.json.encode(preflight).decode()},
            {"key": "left_out", "value": msgspec.json.encode([str(finding) for finding in left_out]).decode()},
        ],
        pk="key",
    )


def _insert_text(database: Any, text: TextIndex) -> None:
    encode = msgspec.msgpack.Encoder().encode
    postings = ((term, len(posting.entries), encode(posting)) for term, posting in text.postings())
    with database.conn:
        database.execute("create table posting (term text primary key, entries integer, data blob) without rowid")
        database.conn.executemany("insert into posting values (?, ?, ?)", postings)
        database.execute("create table word (word text primary key, entries integer, trusted integer) without rowid")
        database.conn.executemany("insert into word values (?, ?, ?)", text.words())


def _messages(entry: Entry) -> str:
    """Return the wording of the messages that tell of an entry, a part of which people put into their questions."""
    texts = [
        text
        for signature in entry.meta.signatures
        if signature.pattern and signature.strength in ("decisive", "strong") and signature.where != "stack"
        for text in wordings(signature.pattern)
    ]
    return "\n".join(dict.fromkeys(texts))
