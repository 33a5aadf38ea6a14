"""The fix that fits the facts: its variant, what to upgrade before, the user's own names, cost and undo."""

from __future__ import annotations

import re
from collections.abc import Collection

from denpex_kb.advise.needed import why_not_needed
from denpex_kb.advise.placeholders import Filler
from denpex_kb.advise.variants import choose_variant, open_needs, upgrades
from denpex_kb.model.conditions import Condition, holds, parse_condition, spell
from denpex_kb.model.diagnosis import FixAdvice, FixSnippet, VerifyAdvice
from denpex_kb.model.entry import Entry, Variant
from denpex_kb.model.facts import FactSet
from denpex_kb.model.kb import Kb

_COST = re.compile(r"\bCost: (.*?)(?= Undo: |$)", re.DOTALL)
_UNDO = re.compile(r"\bUndo: (.*)$", re.DOTALL)


def fit_fix(entry: Entry, facts: FactSet, kb: Kb, *, edited: Collection[str] = (), observed: bool = True) -> FixAdvice:
    """Fit an entry's fix to the facts.

    Args:
        entry: the entry.
        facts: what is known of the set-up.
        kb: the declarations of the facts.
        edited: kinds of config files at hand.
        observed: the failure was seen; where it was not, the advice may be that no fix is needed.
    """
    filler = Filler(facts, kb)
    why_not = None if observed else why_not_needed(entry, facts, kb)
    if why_not is not None:
        return FixAdvice(filler.fill(entry.body.fix.summary), needed=False, why_not=why_not)
    chosen = choose_variant(entry, facts, edited)
    others = tuple(variant.title for variant in entry.body.fix.variants if variant is not chosen)
    if chosen is None:
        return FixAdvice(filler.fill(entry.body.fix.summary), others=others)
    before = upgrades(chosen, facts, kb)
    notes = tuple(map(filler.fill, chosen.notes))
    undo = _part(_UNDO, notes)
    if before:
        back = ", ".join(f'pip install "{item.package}=={item.installed}"' for item in before)
        undo = f"{undo} Of the upgrade: {back}".strip()
    return FixAdvice(
        summary=filler.fill(entry.body.fix.summary),
        steps=(*(upgrade.step for upgrade in before), *map(filler.fill, chosen.steps)),
        snippets=tuple(
            FixSnippet(snippet.language, filler.fill(snippet.text), _when(chosen)) for snippet in chosen.snippets
        ),
        applies_because=_because(chosen, facts),
        variant=chosen.title,
        notes=notes,
        placeholders=filler.open,
        others=others,
        needs=tuple(_need(need, kb) for need in open_needs(chosen, facts)),
        cost=_part(_COST, notes),
        undo=undo,
    )


def fit_verification(entry: Entry, facts: FactSet, kb: Kb) -> VerifyAdvice:
    """Return the entry's verification with the user's names filled in."""
    verify = entry.body.verify
    filler = Filler(facts, kb)
    command, expect = filler.fill(verify.command), filler.fill(verify.expect)
    return VerifyAdvice(command, expect, verify.language, filler.open)


def _because(variant: Variant, facts: FactSet) -> str:
    because = [
        f"{fact.name} = {spell(fact.value)} ({fact.source})"
        for condition in map(parse_condition, variant.when)
        if holds(condition, facts)
        for fact in facts.of(condition.fact)[:1]
    ]
    when = _when(variant)
    return "; ".join(because) or (f"if {when}" if when else "fits every set-up")


def _when(variant: Variant) -> str:
    return " and ".join(map(_spoken, map(parse_condition, variant.when)))


def _spoken(condition: Condition) -> str:
    return str(condition).replace(" = ", " is ").replace(" | ", " or ")


def _need(need: Condition, kb: Kb) -> str:
    declared = kb.fact(need.fact)
    find = f"; find yours with: {declared.find}" if declared else ""
    return f"needs {need}{find}"


def _part(pattern: re.Pattern[str], notes: Collection[str]) -> str:
    found = next((match for note in notes if (match := pattern.search(note))), None)
    return " ".join(found.group(1).split()) if found else ""
