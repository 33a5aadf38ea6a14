"""How likely each entry makes an answer: from its conditions, kind, phase, text and signatures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from denpex_kb.chat.belief import NONE
from denpex_kb.index.concepts import token
from denpex_kb.model.conditions import Condition, version_in
from denpex_kb.model.rules import Rule

# How much likelier a value is under an entry that names it, against one that says nothing of it.
_REQUIRED = 20.0
_EXCLUDED = 0.04
_SIGNED = 5.0  # a signature rests on it
_SPOKEN = 3.0  # the entry's text speaks of it
_PHASE = 5.0
_KIND = 8.0
_SEEN_AS = {  # kind → as what it is seen as well
    "hang": {"crash": 3.0, "slow": 2.0},
    "crash": {"hang": 1.5},
    "oom": {"crash": 3.0},
    "slow": {"hang": 2.0},
    "divergence": {"silent-wrong": 3.0},
    "silent-wrong": {"divergence": 3.0},
}
_STANDS = frozenset({"hang", "crash", "oom"})  # no step completes any more
_QUIET = 0.6  # a job that hangs often prints nothing
# How likely the user sees an entry's line: where it is the failure, and where it is another one.
_SEEN = {"decisive": 0.8, "strong": 0.65, "supporting": 0.45, "part": 0.5}
_STRAY = {"decisive": 0.02, "strong": 0.06, "supporting": 0.15, "part": 0.2}


def value_chances(
    fact: str, values: Sequence[str], rules: Mapping[str, Rule], spoken: Mapping[str, frozenset[str]]
) -> list[dict[str, float]]:
    """Return, for each value of a fact, how likely each entry makes it.

    Args:
        fact: the fact's name.
        values: its values, as conditions spell them.
        rules: the entries in view.
        spoken: entry id → the concepts that its text speaks of, as search tokens.
    """
    chances: list[dict[str, float]] = [{NONE: 1.0 / len(values)} for _ in values]
    for entry_id, rule in rules.items():
        weights = [_weight(fact, value, rule, spoken.get(entry_id, frozenset())) for value in values]
        total = sum(weights)
        for chance, weight in zip(chances, weights, strict=True):
            chance[entry_id] = weight / total
    return chances


def _weight(fact: str, value: str, rule: Rule, spoken: frozenset[str]) -> float:
    weight = _SPOKEN if token(fact, value) in spoken else 1.0
    for condition in rule.requires:
        if condition.fact == fact:
            weight *= _REQUIRED if _fits(condition, value) else 1.0
    for condition in rule.excludes:
        if condition.fact == fact and _fits(condition, value):
            weight *= _EXCLUDED
    for signature in rule.signatures:
        named = signature.condition
        if named is not None and named.fact == fact and _fits(named, value):
            weight = max(weight, _SIGNED)
    if fact == "symptom":
        weight *= _KIND if value == rule.kind else _SEEN_AS.get(rule.kind, {}).get(value, 1.0)
    if fact == "phase" and value == rule.phase:
        weight *= _PHASE
    if fact == "progress" and value == "false" and rule.kind in _STANDS:
        weight *= _KIND
    return weight


def _fits(condition: Condition, value: str) -> bool:
    if condition.operator == "in":
        return version_in(value, condition.values[0]) is True
    return (value in condition.values) == (condition.operator == "=")


def line_chances(
    lines: Sequence[tuple[str, str, frozenset[str]]], rules: Mapping[str, Rule], told: Mapping[str, int]
) -> list[dict[str, float]]:
    """Return how likely each entry makes it that the user sees each line; the last one is: none of them.

    Args:
        lines: the entry that a line belongs to, the strength that it lends it, all entries whose signatures match it.
        rules: the entries in view.
        told: entry id → how many of its lines were not seen already: who sees none of them will not see the next.
    """
    chances: list[dict[str, float]] = [{} for _ in lines]
    none: dict[str, float] = {}
    for entry_id in (*rules, NONE):
        left = 1.0
        for chance, (owner, strength, alike) in zip(chances, lines, strict=True):
            likely = _STRAY[strength]
            if entry_id == owner:
                quiet = _QUIET if rules[owner].kind == "hang" else 1.0
                likely = quiet * _SEEN[strength] / math.sqrt(_ways(rules[owner])) / 2 ** told.get(owner, 0)
            elif entry_id in alike:
                likely = 0.6 * _SEEN[strength]
            chance[entry_id] = left * likely
            left *= 1.0 - likely
        none[entry_id] = left
    return [*chances, none]


def _ways(rule: Rule) -> int:
    """Return in how many ways an entry shows itself: the more, the less likely one of them is."""
    return max(1, sum(item.strength in ("decisive", "strong") for item in rule.signatures))
