"""Which unknown fact would decide between the hypotheses."""

from __future__ import annotations

from collections.abc import Sequence

from denpex_kb.model.conditions import Condition, holds
from denpex_kb.model.diagnosis import Hypothesis, Question
from denpex_kb.model.facts import FactSet
from denpex_kb.model.kb import Kb
from denpex_kb.model.rules import Rule

_MOST = 3
_CHILD = 0.5  # of its parent's confidence: a child that only waits for a fact


def next_questions(
    hypotheses: Sequence[Hypothesis], rules: dict[str, Rule], facts: FactSet, kb: Kb
) -> tuple[Question, ...]:
    """Order the unknown facts by how evenly they part the confidence of the leading hypotheses.

    A child of a leading one counts where some of its conditions are known to hold and none is known not to: the answer
    may make the diagnosis more exact.
    """
    leading = {item.id: item.confidence for item in hypotheses[:5]}
    for rule in rules.values():
        if rule.parent in leading and rule.id not in leading and _may_fit(rule, facts):
            leading[rule.id] = _CHILD * leading[rule.parent]
    scored: list[tuple[float, int, str, tuple[str, ...]]] = []
    names: dict[str, None] = {}
    for entry in leading:
        for condition in _conditions(rules[entry]):
            if condition.fact not in facts:
                names.setdefault(condition.fact)
    for order, name in enumerate(names):
        needing = tuple(entry for entry in leading if any(item.fact == name for item in _conditions(rules[entry])))
        with_it = sum(leading[entry] for entry in needing)
        without = sum(leading.values()) - with_it
        scored.append((-min(with_it, without) - 0.2 * with_it, order, name, needing))
    declared = {fact.name: fact for fact in kb.facts}
    return tuple(
        Question(name, declared[name].question, declared[name].find, decides)
        for _, _, name, decides in sorted(scored)[:_MOST]
        if name in declared
    )


def _conditions(rule: Rule) -> tuple[Condition, ...]:
    return (*rule.requires, *rule.excludes)


def _may_fit(rule: Rule, facts: FactSet) -> bool:
    """Say whether what is known speaks for an entry, and nothing against it."""
    required = [holds(condition, facts) for condition in rule.requires]
    excluded = [holds(condition, facts) for condition in rule.excludes]
    return True in required and None in required and False not in required and True not in excluded
