"""The entries in view, weighed: what the matcher ranks, and what may stand behind a failure that it cannot name yet."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from msgspec import Struct

from denpex_kb.chat.belief import NONE, Belief, normalised
from denpex_kb.match.evidence import Hits
from denpex_kb.match.logs import Ranking
from denpex_kb.match.questions import RECOGNISED, Answer
from denpex_kb.model.diagnosis import Hypothesis
from denpex_kb.model.facts import FactSet
from denpex_kb.model.rules import Rule, RuleSignature

MOST = 14  # entries in view
_LEAST_NONE = 0.1  # of a question, the share of what the catalog does not hold
_MOST_ODDS = 50.0
_GENERIC = 0.7  # "this kind of thing happened": most often something more exact stands behind it
_CUT = 1.5  # the most for what fits a log whose last word is missing
_NONE_OF_WHOLE = 6.0  # the weight of what the catalog does not hold, where the log says what happened
_CHILD = 0.25  # an entry whose generic parent matched
_PART = 0.45  # an entry of which all but one piece of a proof was seen
_TEXT = 2.0  # all entries together whose text speaks of what the log shows
_MOST_BY_LOG = 24


class View(Struct, frozen=True):
    """The entries in view and how likely each is."""

    belief: Belief
    titles: dict[str, str]
    matched: frozenset[str]  # those for which the input holds proof enough


def weigh_question(found: Answer, shift: Mapping[str, float], rules: Mapping[str, Rule]) -> View:
    """Weigh the entries of a question against one that the catalog does not hold."""
    if not found.hypotheses:
        return View(normalised({NONE: 1.0}), {}, frozenset())
    every = {
        item.id: score + shift.get(item.id, 0.0) for item, score in zip(found.hypotheses, found.scores, strict=True)
    }
    kept = sorted(found.hypotheses, key=lambda item: -every[item.id])[:MOST]
    shares = {item.id: math.exp(every[item.id] - RECOGNISED) for item in kept}
    shares[NONE] = max(1.0, _LEAST_NONE / (1.0 - _LEAST_NONE) * sum(shares.values()))
    for item in kept:
        if rules[item.id].standing != "specific":
            shares[item.id] *= _GENERIC
    return View(normalised(shares), {item.id: item.title for item in kept}, frozenset(shares) - {NONE})


def weigh_log(
    ranking: Ranking,
    text: Answer | None,
    hits: Hits,
    facts: FactSet,
    shift: Mapping[str, float],
    rules: Mapping[str, Rule],
    *,
    cut: bool = False,
    told_itself: bool = False,
) -> View:
    """Weigh the entries of a log.

    Args:
        ranking: what the matcher makes of the lines.
        text: the entries whose text speaks of what the log and the user say.
        hits: the matched lines by entry and signature.
        facts: what is known.
        shift: what the user's answers say of an entry, in log-odds.
        rules: all rules by id.
        cut: the log breaks off where its traceback would say what happened.
        told_itself: the log holds the exception that began it; an entry that names it would have been found.
    """
    out = {item.id for item in ranking.ruled_out}
    weights: dict[str, float] = {}
    most = _CUT if cut else _MOST_ODDS
    for item in (*ranking.hypotheses, *ranking.near):
        weights[item.id] = min(_odds(item.confidence), most)
    generic = {item.id for item in ranking.hypotheses if rules[item.id].standing != "specific"}
    settled = any(item.id not in generic for item in ranking.hypotheses)
    for entry_id, names in hits.items():
        if entry_id not in weights and (share := completeness(rules[entry_id], frozenset(names), facts)) >= 0.5:
            weights[entry_id] = _PART * share**2 * (0.3 if settled else 1.0)
    for rule in rules.values():
        if rule.parent in generic and rule.id not in weights:
            weights[rule.id] = _CHILD
    for entry_id, weight in _by_text(text, rules).items():
        weights[entry_id] = weights.get(entry_id, 0.0) + weight * (0.2 if settled else 1.0)
    moved = {
        name: weight * math.exp(shift.get(name, 0.0))
        for name, weight in weights.items()
        # to tell apart what only says the kind of failure, or what followed from it, helps nobody
        if name not in out and rules[name].standing == "specific" and rules[name].role == "initiating"
    }
    kept = sorted(moved, key=lambda name: (-moved[name], name))[:_MOST_BY_LOG]
    shares = {entry_id: moved[entry_id] for entry_id in kept}
    shares[NONE] = _NONE_OF_WHOLE if told_itself and not cut else 1.0
    return View(
        normalised(shares),
        {entry_id: rules[entry_id].title for entry_id in kept},
        frozenset(item.id for item in ranking.hypotheses),
    )


def _by_text(text: Answer | None, rules: Mapping[str, Rule]) -> dict[str, float]:
    if text is None or not text.hypotheses:
        return {}
    scores = dict(zip((item.id for item in text.hypotheses), text.scores, strict=True))
    specific = [entry_id for entry_id in scores if rules[entry_id].standing == "specific"]
    if not specific:
        return {}
    raw = {entry_id: math.exp(scores[entry_id] - scores[specific[0]]) for entry_id in specific}
    total = sum(raw.values())
    return {entry_id: _TEXT * weight / total for entry_id, weight in raw.items()}


def completeness(rule: Rule, seen: frozenset[str], facts: FactSet) -> float:
    """Return how much of a proof is there already: 1 where only `within` is not fulfilled, 0 where nothing is."""
    by_name = {signature.name: signature for signature in rule.signatures}
    return max(
        (
            _share(signature, by_name, seen, facts)
            for signature in rule.signatures
            # whether a line stands in that very traceback, on another rank, or beside what must not be there,
            # is more than "I see such a line" says
            if signature.strength in ("decisive", "strong")
            and signature.members
            and signature.within in ("rank", "job")
            and not signature.forbidden
        ),
        default=0.0,
    )


def _share(
    signature: RuleSignature, by_name: Mapping[str, RuleSignature], seen: frozenset[str], facts: FactSet, depth: int = 0
) -> float:
    from denpex_kb.model.conditions import holds

    if signature.name in seen:
        return 1.0
    if signature.condition is not None:
        return 1.0 if holds(signature.condition, facts) else 0.0
    if not signature.members or depth > 4:
        return 0.0
    shares = [_share(by_name[name], by_name, seen, facts, depth + 1) for name in signature.members if name in by_name]
    if not shares:
        return 0.0
    return max(shares) if signature.body == "any_of" else sum(shares) / len(shares)


def missing_for(rule: Rule, seen: frozenset[str], facts: FactSet, wanted: str) -> bool:
    """Say whether one more signature would complete a proof of the entry."""
    return completeness(rule, seen | {wanted}, facts) >= 1.0 > completeness(rule, seen, facts)


def _odds(confidence: float) -> float:
    return confidence / max(1.0 - confidence, 1e-6)


def _shifted(confidence: float, shift: float) -> float:
    return 1.0 / (1.0 + math.exp(-(math.log(_odds(max(confidence, 1e-6))) + shift)))


def shifted(hypotheses: Sequence[Hypothesis], shift: Mapping[str, float], most: float) -> tuple[Hypothesis, ...]:
    """Return the hypotheses in the order that the user's answers leave, with the confidence that is left.

    Args:
        hypotheses: as the matcher ranks them.
        shift: what the answers say of each, in log-odds.
        most: the confidence to which answers can raise one.
    """
    from msgspec import structs

    def moved_to(item: Hypothesis) -> float:
        return round(min(_shifted(item.confidence, shift[item.id]), max(most, item.confidence)), 3)

    moved = [structs.replace(item, confidence=moved_to(item)) if shift.get(item.id) else item for item in hypotheses]
    return tuple(sorted(moved, key=lambda item: -item.confidence))
