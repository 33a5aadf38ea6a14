"""Whether a set-up needs an entry's fix at all, and why not."""

from __future__ import annotations

from denpex_kb.model.conditions import Condition, holds, parse_condition, spell
from denpex_kb.model.entry import Entry
from denpex_kb.model.facts import Fact, FactSet
from denpex_kb.model.kb import Kb


def why_not_needed(entry: Entry, facts: FactSet, kb: Kb) -> str | None:
    """Say why a set-up cannot run into an entry's failure; None where it can, or where nobody knows.

    `preflight` states what a set-up alone can show, so its conditions count beside `requires` and `excludes`.
    """
    meta = entry.meta
    early = meta.preflight
    excludes = (*meta.excludes, *(early.excludes if early else ()))
    requires = (*meta.requires, *(early.requires if early else ()))
    for condition in map(parse_condition, excludes):
        if holds(condition, facts):
            return _spoken(condition, facts, kb)
    for condition in map(parse_condition, requires):
        if holds(condition, facts) is False:
            return f"{_spoken(condition, facts, kb)}; this failure needs {condition}"
    return None


def _spoken(condition: Condition, facts: FactSet, kb: Kb) -> str:
    fact = _telling(condition, facts)
    declared = kb.fact(condition.fact)
    meaning = declared.means.get(spell(fact.value)) if declared else None
    said = meaning or f"{fact.name} = {spell(fact.value)}"
    because = fact.text if fact.origin == "derived" and fact.text else fact.source
    return f"{said} ({because})"


def _telling(condition: Condition, facts: FactSet) -> Fact:
    """Return the observation that decides, the reliable one first."""
    of = sorted(facts.of(condition.fact), key=lambda fact: not fact.reliable)
    return next((fact for fact in of if spell(fact.value) in condition.values), of[0])
