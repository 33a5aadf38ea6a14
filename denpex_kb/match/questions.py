"""A question in words → ranked hypotheses, with a calibration of its own."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from denpex_kb.index.concepts import Reading
from denpex_kb.index.open import Index
from denpex_kb.match.conditions import Fit, fit
from denpex_kb.match.words import Item, Likeness, hold_against, items_of, spoken_of
from denpex_kb.model.diagnosis import Evidence, Hypothesis, RuledOut
from denpex_kb.model.facts import FactSet
from denpex_kb.model.rules import Rule

# How much each measure counts, in nats: fitted on the entries' own questions, each with itself left out of the index.
_WEIGHTS = {
    "spoken": 11.1,  # the share of the question that the entry speaks of
    "spoken_much": 2.6,
    "sentence": 3.0,
    "title": 3.5,
    "phrase": 8.8,
    "kind": 5.4,
    "phase": 0.9,
    "fits": 0.5,
    "unstated": -2.0,
    "doubted": -1.6,
    "decisive": 10.0,
    "strong": 3.0,
}
_CEILING = 0.89  # a few words never reach the confidence of a log
_QUOTED_CEILING = 0.95
# How likely an answer is right by its score and its lead over the next one: fitted on the development questions and the
# entries' own.
_SURE = (0.37, 0.445, -6.18)
_MOST_LEAD = 6.0
RECOGNISED = 10.6  # below this score, in nats, no entry speaks of what is asked
_LEAST_SURE = 0.15  # an answer that is less likely right than this is none
_CANDIDATES = 40
_SHORT, _GENERIC = 8.0, 0.9  # below this weight of words the generic entry is the likelier answer
_SHADOW = 2.5  # by how much a ruled-out entry must fit better to cast doubt on the rest
_RULED_OUT_AT = 3.0
_GOES_ON = -4.0  # a run that goes on neither hangs nor is dead
_NOTHING_WRONG, _WONDERS, _ASKS_OF_TROUBLE = -4.0, -7.0, -5.0
_TELLS = 1.0
_QUOTES = 0.2  # from three words in a row of a message on
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
_OTHER_KIND = 0.45


class Answer(Struct, frozen=True):
    """The ranked hypotheses of a question."""

    hypotheses: tuple[Hypothesis, ...]
    ruled_out: tuple[RuledOut, ...]
    coverage: float
    scores: tuple[float, ...] = ()  # of each hypothesis, in nats
    recognised: bool = False  # the best entry speaks of what is asked
    contradicted: bool = False  # an entry that a stated fact rules out would be recognised
    shadowed: bool = False  # an entry that a stated fact rules out fits clearly better than all that are left


class _Scored(Struct, frozen=True):
    """One entry with what it scores."""

    score: float
    number: int
    rule: Rule
    conditions: Fit


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
    items = items_of(reading, index)
    likeness = hold_against(items, index)
    hits = signature_hits or {}
    phrases = _telling_phrases(index.quoted(text), index.lexicon.ignore | index.lexicon.faint)
    calm = _calm(reading, facts, max((worth for _, worth in phrases.values()), default=0.0))
    scored: list[_Scored] = []
    ruled_out: list[tuple[float, RuledOut]] = []
    for number in _candidates(likeness, [*hits, *phrases], index):
        rule = index.by_id[index.sentences.entries[number]]
        conditions = fit(rule.requires, rule.excludes, facts)
        measured = measures(
            rule, number, likeness, conditions, facts, hits.get(rule.id, []), phrases.get(rule.id, ("", 0.0))[1]
        )
        score = sum(_WEIGHTS[name] * value for name, value in measured.items()) + _circumstances(
            rule, number, likeness, facts, calm=0.0 if rule.id in hits else calm
        )
        if not conditions.contradicted:
            scored.append(_Scored(score, number, rule, conditions))
        elif score > _RULED_OUT_AT:
            ruled_out.append((score, RuledOut(rule.id, conditions.contradicted[0])))
    scored.sort(key=lambda item: (-item.score, item.rule.role == "collateral", item.rule.id))
    kept = scored[:most]
    hypotheses = tuple(
        _hypothesis(item, sure, items, index, hits.get(item.rule.id, []), phrases.get(item.rule.id, ("", 0.0))[0])
        for item, sure in zip(kept, _sure(kept, hits), strict=True)
    )
    ruled_out.sort(key=lambda item: -item[0])
    shadow = bool(ruled_out and scored) and ruled_out[0][0] > scored[0].score + _SHADOW
    best = max((likeness.covered[item.number] for item in scored), default=0.0)
    coverage = best / likeness.total if likeness.total else 0.0
    return Answer(
        hypotheses,
        tuple(out for _, out in ruled_out[:5]),
        coverage,
        scores=tuple(item.score for item in kept),
        recognised=bool(kept) and kept[0].score >= RECOGNISED and hypotheses[0].confidence >= _LEAST_SURE,
        contradicted=bool(ruled_out) and ruled_out[0][0] >= RECOGNISED,
        shadowed=shadow,
    )


def measures(
    rule: Rule,
    number: int,
    likeness: Likeness,
    conditions: Fit,
    facts: FactSet,
    quoted: list[Evidence],
    phrase: float,
) -> dict[str, float]:
    """Return what is measured of one entry, each by its name in the weights."""
    covered = likeness.covered[number]
    share = covered / likeness.total if likeness.total else 0.0
    symptoms = [str(value) for value in facts.values("symptom")]
    near = max((_NEAR_KINDS.get(symptom, {}).get(rule.kind, _OTHER_KIND) for symptom in symptoms), default=1.0)
    strengths = {evidence.strength for evidence in quoted}
    return {
        "spoken": share * (1.0 - math.exp(-covered / _ENOUGH)),
        "spoken_much": math.log1p(covered),
        "sentence": likeness.sentence[number],
        "title": likeness.title[number],
        "phrase": phrase,
        "kind": share * math.log(near),
        "phase": float(rule.phase in facts.values("phase")),
        "fits": min(len(conditions.fits), 3),
        "unstated": len(conditions.unknown),
        "doubted": len(conditions.doubted),
        "decisive": float("decisive" in strengths),
        "strong": float("strong" in strengths),
    }


def _calm(reading: Reading, facts: FactSet, phrase: float) -> float:
    """Return what speaks against any failure at all: nothing is said to have gone wrong, or all goes well."""
    if "symptom" in facts or phrase >= _QUOTES or (reading.troubled and not reading.wondering):
        return 0.0
    if reading.troubled:
        return _ASKS_OF_TROUBLE
    return _WONDERS if reading.wondering or facts.value("progress") is True else _NOTHING_WRONG


def _circumstances(rule: Rule, number: int, likeness: Likeness, facts: FactSet, *, calm: float) -> float:
    """Return what the situation as a whole adds or takes, beside what is measured of the entry's text."""
    score = calm
    if calm:
        score += _TELLS * min(1.0, likeness.covered[number] / _TELLING)  # very telling words make up for a part of it
    if facts.value("progress") is True and rule.kind in ("hang", "crash", "oom"):
        score += _GOES_ON
    if rule.standing != "specific" and likeness.total < _SHORT:
        score += _GENERIC  # few words say what kind of thing happened, not which failure it is
    return score


def _candidates(likeness: Likeness, further: Iterable[str], index: Index) -> list[int]:
    """Return the numbers of the entries that are worth a closer look."""
    numbers = [number for number, covered in enumerate(likeness.covered) if covered]
    best = heapq.nlargest(
        _CANDIDATES,
        numbers,
        key=lambda number: likeness.covered[number] + likeness.total * likeness.sentence[number],
    )
    return list(dict.fromkeys([*best, *(index.numbers[entry_id] for entry_id in further)]))


def _hypothesis(
    item: _Scored, sure: float, items: list[Item], index: Index, quoted: list[Evidence], phrase: str
) -> Hypothesis:
    said = spoken_of(item.number, items, index)
    words = (phrase, *(word for word in said if word not in phrase.split())) if phrase else said
    return Hypothesis(
        item.rule.id,
        item.rule.title,
        sure,
        item.rule.role,
        (*quoted, *item.conditions.fits, *(Evidence("words", word, text=word) for word in words)),
        (),
        item.conditions.unknown,
        item.rule.origin,
    )


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


def _sure(scored: Sequence[_Scored], hits: Mapping[str, object]) -> Iterator[float]:
    by_score, by_lead, start = _SURE
    for place, item in enumerate(scored):
        rival = scored[1 if place == 0 else 0].score if len(scored) > 1 else -_MOST_LEAD
        lead = max(-_MOST_LEAD, min(_MOST_LEAD, item.score - rival))
        sure = _logistic(by_score * item.score + by_lead * lead + start)
        yield round(min(sure, _QUOTED_CEILING if item.rule.id in hits else _CEILING), 3)


def _logistic(odds: float) -> float:
    return 1.0 / (1.0 + math.exp(-odds))
