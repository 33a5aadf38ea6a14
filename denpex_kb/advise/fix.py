"""The variant of the fix that fits the facts, with the user's own names filled in."""

from __future__ import annotations

import re

from denpex_kb.model.conditions import Condition, holds, parse_condition, spell
from denpex_kb.model.diagnosis import FixAdvice, FixSnippet, VerifyAdvice
from denpex_kb.model.entry import Entry, Variant
from denpex_kb.model.facts import FactSet
from denpex_kb.model.kb import Kb

_PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_-]*\.[a-z_]+|world_size|nodes|precision)\}")


def fit_fix(entry: Entry, facts: FactSet, kb: Kb) -> FixAdvice:
    """Choose the variant whose conditions hold; where none is known to, the first that nothing contradicts."""
    variants = entry.body.fix.variants
    chosen = _choose(variants, facts)
    others = tuple(variant.title for variant in variants if variant is not chosen)
    if chosen is None:
        return FixAdvice(entry.body.fix.summary, others=others)
    placeholders: dict[str, str] = {}

    def filled(text: str) -> str:
        return fill(text, facts, kb, placeholders)

    when = " and ".join(map(_spoken, map(parse_condition, chosen.when)))
    because = [
        f"{fact.name} = {spell(fact.value)} ({fact.source})"
        for condition in map(parse_condition, chosen.when)
        if holds(condition, facts)
        for fact in facts.of(condition.fact)[:1]
    ]
    return FixAdvice(
        summary=filled(entry.body.fix.summary),
        steps=tuple(map(filled, chosen.steps)),
        snippets=tuple(FixSnippet(snippet.language, filled(snippet.text), when) for snippet in chosen.snippets),
        applies_because="; ".join(because) or (f"if {when}" if when else "fits every set-up"),
        variant=chosen.title,
        notes=tuple(map(filled, chosen.notes)),
        placeholders=placeholders,
        others=others,
    )


def fit_verification(entry: Entry, facts: FactSet, kb: Kb) -> VerifyAdvice:
    """Return the entry's verification with the user's names filled in."""
    verify = entry.body.verify
    return VerifyAdvice(fill(verify.command, facts, kb, {}), fill(verify.expect, facts, kb, {}), verify.language)


def fill(text: str, facts: FactSet, kb: Kb, placeholders: dict[str, str]) -> str:
    """Put known facts in place of `{fact.name}`; what is unknown stays a named placeholder and is noted."""
    declared = {fact.name: fact for fact in kb.facts}

    def one(match: re.Match[str]) -> str:
        name = match.group(1)
        value = facts.value(name)
        if value is not None:
            return spell(value)
        if name not in declared:
            return match.group(0)
        label = "<" + declared[name].title.replace(" ", "-") + ">"
        placeholders[label] = declared[name].find
        return label

    return _PLACEHOLDER.sub(one, text)


def _choose(variants: tuple[Variant, ...], facts: FactSet) -> Variant | None:
    best: tuple[tuple[int, int, int], Variant] | None = None
    for order, variant in enumerate(variants):
        verdicts = [holds(parse_condition(text), facts) for text in variant.when]
        if False in verdicts:
            continue
        known, open_ = verdicts.count(True), verdicts.count(None)
        # all conditions known to hold; then the one that asks least of what is unknown; then the author's order
        key = (-known if not open_ else 1, open_, order)
        if best is None or key < best[0]:
            best = (key, variant)
    return best[1] if best else None


def _spoken(condition: Condition) -> str:
    return str(condition).replace(" = ", " is ").replace(" | ", " or ")
