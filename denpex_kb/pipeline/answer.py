"""What every diagnosis gets in the end, of a question as of a log: signs, facts, advice."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from denpex_kb.advise.action import entry_action, fallback_action, pointed
from denpex_kb.advise.advice import advise
from denpex_kb.advise.questions import next_questions
from denpex_kb.index.open import Index
from denpex_kb.model.diagnosis import Attempt, Diagnosis, Hypothesis, SeenValue
from denpex_kb.model.facts import FactSet


def with_advice(diagnosis: Diagnosis, facts: FactSet, index: Index) -> Diagnosis:
    """Add what the best hypothesis lets one say, and the question that would decide.

    What the diagnosis quotes of the input must be free of secrets already, or become so afterwards.
    """
    attempts = tuple(_acted(attempt, index) for attempt in diagnosis.attempts)
    if not diagnosis.hypotheses:
        return structs.replace(diagnosis, attempts=attempts, action=fallback_action(diagnosis))
    entry = index.entry(diagnosis.hypotheses[0].id)
    advice = advise(entry, facts, index.kb, diagnosis.targets)
    return structs.replace(
        diagnosis,
        attempts=attempts,
        action=pointed(advice.action, diagnosis) if entry.meta.standing != "specific" else advice.action,
        fix=advice.fix,
        verify=advice.verify,
        checklist=advice.checklist,
        next_questions=next_questions(diagnosis.hypotheses, index.by_id, facts, index.kb),
    )


def _acted(attempt: Attempt, index: Index) -> Attempt:
    """Give every incident of an attempt its own action."""
    incidents = tuple(
        structs.replace(incident, action=entry_action(index.entry(incident.hypotheses[0].id), incident.targets))
        if incident.hypotheses
        else incident
        for incident in attempt.incidents
    )
    return structs.replace(attempt, incidents=incidents)


def with_signs(hypotheses: Sequence[Hypothesis], index: Index) -> tuple[Hypothesis, ...]:
    """Say of each further hypothesis what tells it from the first."""
    if not hypotheses:
        return ()
    signs = {lookalike.id: lookalike.sign for lookalike in index.entry(hypotheses[0].id).meta.lookalikes}
    return tuple(structs.replace(item, sign=signs.get(item.id, "")) for item in hypotheses)


def fact_values(facts: FactSet) -> dict[str, tuple[SeenValue, ...]]:
    """Return every known fact with its values and where each was seen."""
    values: dict[str, tuple[SeenValue, ...]] = {}
    for name in facts.names():
        seen: list[SeenValue] = []
        for value in facts.values(name):
            witnesses = [fact for fact in facts.of(name) if fact.value == value]
            ranks = tuple(sorted({fact.rank for fact in witnesses if fact.rank is not None}))
            seen.append(SeenValue(value, ranks or "all", witnesses[0].source))
        values[name] = tuple(seen)
    return values
