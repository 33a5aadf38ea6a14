"""Hold an entry's conditions against the facts: what fits, what contradicts, what is unknown."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from denpex_kb.model.conditions import Condition, holds, spell, version_in
from denpex_kb.model.diagnosis import Evidence
from denpex_kb.model.facts import Fact, FactSet


class Fit(Struct, frozen=True):
    """How an entry's conditions stand to the facts."""

    fits: tuple[Evidence, ...] = ()
    contradicted: tuple[str, ...] = ()  # rules the entry out
    doubted: tuple[Evidence, ...] = ()
    unknown: tuple[str, ...] = ()


def fit(requires: Iterable[Condition], excludes: Iterable[Condition], facts: FactSet) -> Fit:
    """Hold conditions against facts; only reliable facts rule out."""
    fits: list[Evidence] = []
    contradicted: list[str] = []
    doubted: list[Evidence] = []
    unknown: list[str] = []
    for condition, wanted in [(item, True) for item in requires] + [(item, False) for item in excludes]:
        verdict = holds(condition, facts)
        if verdict is None or _undecided(condition, facts):
            if wanted:
                unknown.append(condition.fact)
            continue
        witness = facts.of(condition.fact)
        if verdict == wanted:
            if wanted:
                fits.append(fact_evidence(witness[0]))
        elif any(fact.reliable for fact in witness):
            fact = next(fact for fact in witness if fact.reliable)
            source = fact.text if fact.origin == "derived" and fact.text else fact.source
            contradicted.append(f"{fact.name} = {spell(fact.value)} ({source})")
        else:
            doubted.append(fact_evidence(witness[0]))
    return Fit(tuple(fits), tuple(contradicted), tuple(doubted), tuple(dict.fromkeys(unknown)))


def _undecided(condition: Condition, facts: FactSet) -> bool:
    """Say whether several versions are named and only some lie in the range ("fine on 4.52, hangs on 4.53")."""
    if condition.operator != "in":
        return False
    inside = [version_in(str(value), condition.values[0]) for value in facts.values(condition.fact)]
    return True in inside and False in inside


def fact_evidence(fact: Fact) -> Evidence:
    """Turn a fact into a piece of evidence."""
    return Evidence("fact", fact.name, fact.file, fact.line, fact.rank, None, f"{fact.name} = {spell(fact.value)}")
