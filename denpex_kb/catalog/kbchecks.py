"""The checks of `kb/`: patterns, examples, vocabulary that names declared facts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from denpex_kb.catalog import patterns
from denpex_kb.catalog.findings import Finding
from denpex_kb.model.facts import FactDeclaration, FactValue
from denpex_kb.model.kb import Kb


def check_kb(kb: Kb, root: Path) -> list[Finding]:
    """Check the shared knowledge; findings name the file by its part of the kb."""
    facts = {fact.name: fact for fact in kb.facts}
    found = [*_marks(kb, root), *_fact_patterns(kb, root), *_words(kb, facts, root)]
    families = {family.id for family in kb.models}
    found += [
        Finding(str(root / "frameworks_moe.yaml"), 1, f"{item.framework} marks {family}, unknown to models.yaml")
        for item in kb.self_marking
        for family in item.families
        if family not in families
    ]
    return found


def _marks(kb: Kb, root: Path) -> Iterator[Finding]:
    for mark in kb.marks:
        for message in (*patterns.faults(mark.pattern), *_unmatched(mark.pattern, mark.examples)):
            yield Finding(str(root / "marks"), 1, f"mark {mark.id}: {message}")
        if len(mark.gives) > re.compile(mark.pattern).groups:
            yield Finding(str(root / "marks"), 1, f"mark {mark.id} gives more than its pattern has groups")


def _fact_patterns(kb: Kb, root: Path) -> Iterator[Finding]:
    for fact in kb.facts:
        for pattern in fact.log:
            for message in (*patterns.faults(pattern.pattern), *_unmatched(pattern.pattern, (pattern.example,))):
                yield Finding(str(root / "facts"), 1, f"fact {fact.name}: {message}")


def _unmatched(pattern: str, examples: tuple[str, ...]) -> Iterator[str]:
    for line in examples:
        if not re.search(pattern.removeprefix("^"), line):
            yield f"the pattern does not match its own example {line!r}"


def _words(kb: Kb, facts: dict[str, FactDeclaration], root: Path) -> Iterator[Finding]:
    for item in kb.words:
        for name, value in ((item.fact, item.value), *item.implies.items()):
            fault = _value_fault(facts, name, value)
            if fault:
                yield Finding(str(root / "vocabulary"), 1, fault)


def _value_fault(facts: dict[str, FactDeclaration], name: str, value: FactValue) -> str | None:
    fact = facts.get(name)
    if fact is None:
        return f"unknown fact {name!r}"
    if fact.values and value not in fact.values:
        return f"{value!r} is no value of {name}; one of: {', '.join(fact.values)}"
    return None
