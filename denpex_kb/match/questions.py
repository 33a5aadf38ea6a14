"""A question in words → ranked hypotheses, with a calibration of its own."""

from __future__ import annotations

import math
from collections.abc import Iterable

from msgspec import Struct

from denpex_kb.index.concepts import Reading
from denpex_kb.index.open import Index
from denpex_kb.match.conditions import fit
from denpex_kb.model.diagnosis import Evidence, Hypothesis, RuledOut
from denpex_kb.model.facts import FactSet
from denpex_kb.model.rules import Rule

# How much a word counts by where the entry says it: title, questions, tags, concepts, summary, symptoms, body.
_COLUMNS = (1.0, 0.95, 0.95, 1.0, 0.8, 0.7, 0.45)
_CONCEPT = 1.25
_IMPLIED = 0.5
_CEILING = 0.86  # a few words never reach the confidence of a log
_SLOPE, _MIDDLE = 5.0, 0.33  # fitted on labelled questions: at a raw score of 0.40 half of the answers are right
_CANDIDATES = 40
_UNSTATED = 0.8  # for each required fact that the question does not state
_SHORT, _GENERIC = 8.0, 0.08  # below this weight of words the generic entry is the likelier answer
_SHADOW = 0.12  # by how much a ruled-out entry must fit better to cast doubt on the rest
_UNHEARD = 2.5  # the weight of a word that no entry holds
_TELLING = 14.0  # evidence, in nats, of a question that names its failure
_PHRASE = 0.25  # for five words in a row of a message that few entries have
_FEW, _SHORT_PHRASE = 3, 8  # entries; characters
_ENOUGH = 5.0  # evidence, in nats, from which on more of it adds little
# A hang ends in a time-out that is a crash to whoever sees it, and so on.
_NEAR_KINDS = {
    "hang": {"hang": 1.0, "crash": 0.62, "slow": 0.6},
    "crash": {"crash": 1.0, "oom": 0.85, "hang": 0.8, "divergence": 0.7, "silent-wrong": 0.6},
    "oom": {"oom": 1.0, "crash": 0.65},
    "slow": {"slow": 1.0, "hang": 0.55},
    "divergence": {"divergence": 1.0, "silent-wrong": 0.85, "crash": 0.6},
    "silent-wrong": {"silent-wrong": 1.0, "divergence": 0.85, "crash": 0.5},
}


class _Item(Struct, frozen=True):
    """One thing the question says: a word or a concept, and how telling it is."""

    tokens: tuple[str, ...]  # the first one, or what follows from it
    said: str
    weight: float
    concept: bool


class Answer(Struct, frozen=True):
    """The ranked hypotheses of a question."""

    hypotheses: tuple[Hypothesis, ...]
    ruled_out: tuple[RuledOut, ...]
    coverage: float
    shadowed: bool = False  # an entry that a stated fact rules out fits clearly better than all that are left


def answer(
    text: str,
    reading: Reading,
    facts: FactSet,
    index: Index,
    signature_hits: dict[str, list[Evidence]] | None = None,
    most: int = 8,
) -> Answer:
    """Rank the entries against a question.

    Args:
        text: the question.
        reading: its concepts and words.
        facts: what is known, derived facts included.
        index: the open index.
        signature_hits: entry id → signatures that the question's own text matched (it quotes a message).
        most: how many hypotheses to return.
    """
    items = list(_items(reading, index))
    hits = signature_hits or {}
    total = sum(item.weight for item in items)
    found = index.search([token for item in items for token in item.tokens], _CANDIDATES)
    phrases = _telling_phrases(index.quoted(text), frozenset(index.lexicon.ignore))
    ids = list(dict.fromkeys([*(found_.id for found_ in found), *hits, *phrases]))
    columns = index.columns(ids) if ids else {}
    rules = index.by_id
    scored: list[tuple[float, float, Rule, tuple[Evidence, ...], tuple[str, ...]]] = []
    ruled_out: list[tuple[float, RuledOut]] = []
    best_coverage = 0.0
    for entry_id in ids:
        rule = rules[entry_id]
        coverage, covered, said = _coverage(items, columns[entry_id], total)
        conditions = fit(rule.requires, rule.excludes, facts)
        quoted = hits.get(entry_id, [])
        phrase, worth = phrases.get(entry_id, ("", 0.0))
        raw = _raw(coverage, covered, rule, facts, quoted, len(conditions.fits)) + worth
        if conditions.contradicted:
            if raw > 0.3:
                ruled_out.append((raw, RuledOut(entry_id, conditions.contradicted[0])))
            continue
        raw -= 0.1 * len(conditions.doubted)
        raw *= _UNSTATED ** len(conditions.unknown)
        if rule.standing != "specific" and total < _SHORT:
            raw += _GENERIC  # few words say what kind of thing happened, not which failure it is
        best_coverage = max(best_coverage, coverage)
        said = (phrase, *(word for word in said if word not in phrase.split())) if phrase else said
        evidence = (*quoted, *conditions.fits, *(Evidence("words", word, text=word) for word in said))
        scored.append((raw, coverage, rule, evidence, conditions.unknown))
    scored.sort(key=lambda item: (-item[0], item[2].role == "collateral", item[2].id))
    hypotheses = tuple(
        Hypothesis(
            rule.id,
            rule.title,
            round(_confidence(raw, bool(hits.get(rule.id))), 3),
            rule.role,
            evidence,
            (),
            unknown,
            rule.origin,
        )
        for raw, _, rule, evidence, unknown in scored[:most]
    )
    ruled_out.sort(key=lambda item: -item[0])
    shadow = bool(ruled_out and scored) and ruled_out[0][0] > scored[0][0] + _SHADOW
    return Answer(hypotheses, tuple(out for _, out in ruled_out[:5]), best_coverage, shadow)


def _telling_phrases(quoted: dict[str, list[tuple[str, int]]], ignored: frozenset[str]) -> dict[str, tuple[str, float]]:
    """Return for each entry the phrase of its messages that tells most, and what that is worth."""
    found: dict[str, tuple[str, float]] = {}
    for entry_id, phrases in quoted.items():
        for phrase, entries in phrases:
            words = phrase.split()
            content = {word for word in words if word not in ignored and not word.isdigit()}
            if len(content) < 2 or (len(words) < 3 and entries > _FEW) or len(phrase) < _SHORT_PHRASE:
                continue
            worth = _PHRASE * min(1.0, (len(words) + 1) / 5) / max(1.0, entries / _FEW)
            if worth > found.get(entry_id, ("", 0.0))[1]:
                found[entry_id] = (phrase, worth)
    return found


def _items(reading: Reading, index: Index) -> Iterable[_Item]:
    size, terms = index.size, index.terms
    telling = {fact.name: fact.telling for fact in index.kb.facts}

    def idf(token: str) -> float:
        return math.log((size + 1) / (terms.get(token, 0) + 0.5))

    for concept in reading.concepts:
        factor = (_IMPLIED if concept.implied else _CONCEPT) * telling.get(concept.fact, 1.0)
        yield _Item(
            (concept.token, *concept.implies), concept.words, factor * min(idf(concept.token), 4.0), concept=True
        )
    for word in reading.words:
        # A word that no entry holds is still something the question is about, and no entry speaks of it.
        yield _Item((word,), word, min(idf(word), 4.5) if word in terms else _UNHEARD, concept=False)


def _coverage(
    items: list[_Item], columns: tuple[frozenset[str], ...], total: float
) -> tuple[float, float, tuple[str, ...]]:
    """Return which share of what the question says the entry speaks of, how much that is, and the pieces."""
    covered = 0.0
    said: list[str] = []
    for item in items:
        place = 0.0
        for discount, token in zip((1.0, 0.8, 0.8, 0.8), item.tokens, strict=False):
            place = max(
                place,
                discount
                * max((weight for weight, words in zip(_COLUMNS, columns, strict=True) if token in words), default=0.0),
            )
        if place:
            covered += item.weight * place
            if item.said not in said:
                said.append(item.said)
    return (covered / total if total else 0.0), covered, tuple(said)


def _raw(coverage: float, covered: float, rule: Rule, facts: FactSet, quoted: list[Evidence], fitting: int) -> float:
    raw = coverage * (1.0 - math.exp(-covered / _ENOUGH)) + 0.05 * min(fitting, 3)
    symptoms = [str(value) for value in facts.values("symptom")]
    if symptoms:
        raw *= max(_NEAR_KINDS.get(symptom, {}).get(rule.kind, 0.45) for symptom in symptoms)
    if facts.value("progress") is True and rule.kind in ("hang", "crash", "oom"):
        raw *= 0.4  # a run that goes on neither hangs nor is dead
    strengths = {evidence.strength for evidence in quoted}
    if "decisive" in strengths:
        raw += 0.6
    elif "strong" in strengths:
        raw += 0.3
    elif not symptoms and "phase" not in facts:
        # nothing is said to have gone wrong; only very telling words make up for it
        raw *= 0.62 + 0.13 * min(1.0, covered / _TELLING)
    return raw


def _confidence(raw: float, quoted: bool) -> float:
    ceiling = 0.95 if quoted else _CEILING
    return ceiling / (1.0 + math.exp(-_SLOPE * (raw - _MIDDLE)))
