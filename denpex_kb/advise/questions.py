"""Which unknown fact would decide between the hypotheses."""

from __future__ import annotations

from collections.abc import Sequence

from denpex_kb.model.conditions import Condition
from denpex_kb.model.diagnosis import Hypothesis, Question
from denpex_kb.model.facts import FactSet
from denpex_kb.model.kb import Kb
from denpex_kb.model.rules import Rule

_MOST = 3


def next_questions(
    hypotheses: Sequence[Hypothesis], rules: dict[str, Rule], facts: FactSet, kb: Kb
) -> tuple[Question, ...]:
    """Order the unknown facts by how evenly they part the confidence of the leading hypotheses."""
    leading = hypotheses[:5]
    scored: list[tuple[float, int, str, tuple[str, ...]]] = []
    names: dict[str, None] = {}
    for hypothesis in leading:
        for condition in (*rules[hypothesis.id].requires, *rules[hypothesis.id].excludes):
            if condition.fact not in facts:
                names.setdefault(condition.fact)
    for order, name in enumerate(names):
        needing = [item for item in leading if _names_fact(rules[item.id], name)]
        with_it = sum(item.confidence for item in needing)
        without = sum(item.confidence for item in leading) - with_it
        scored.append((-min(with_it, without) - 0.2 * with_it, order, name, tuple(item.id for item in needing)))
    declared = {fact.name: fact for fact in kb.facts}
    return tuple(
        Question(name, declared[name].question, declared[name].find, decides)
        for _, _, name, decides in sorted(scored)[:_MOST]
        if name in declared
    )


def _names_fact(rule: Rule, name: str) -> bool:
    conditions: tuple[Condition, ...] = (*rule.requires, *rule.excludes)
    return any(condition.fact == name for condition in conditions)
