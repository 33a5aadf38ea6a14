"""The entries held against one incident of a log: log-odds, every number traceable to a line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

from denpex_kb.match import weights
from denpex_kb.match.conditions import Fit, fit
from denpex_kb.match.evidence import Hits, Told, Witness, witnesses
from denpex_kb.model.diagnosis import Evidence, Hypothesis, RuledOut
from denpex_kb.model.events import Seen
from denpex_kb.model.facts import FactSet
from denpex_kb.model.rules import Rule, RuleSet

_DIGITS = re.compile(r"\d+")
_PERSISTENT_KINDS = frozenset({"slow", "silent-wrong", "divergence"})  # such a run goes on


class Place(Struct, frozen=True):
    """Where the failure began, as `derive` found it; lines there weigh more."""

    lines: frozenset[tuple[str, int]] = frozenset()  # (file, number)
    blocks: frozenset[int] = frozenset()
    known: bool = False


class Ranking(Struct, frozen=True):
    """The hypotheses, best first, and what was ruled out."""

    hypotheses: tuple[Hypothesis, ...]
    ruled_out: tuple[RuledOut, ...]
    near: tuple[Hypothesis, ...]  # below the threshold


class Grounds(Struct, frozen=True):
    """What a ranking rests on, kept so that an entry can be held against the same lines when more is known."""

    hits: Hits
    facts: FactSet
    relations: Mapping[str, Told]
    place: Place
    overtaken: Mapping[tuple[str, int], bool] = {}

    def rank(self, rules: RuleSet) -> Ranking:
        """Score every entry on these grounds."""
        return rank_entries(self.hits, rules, self.facts, self.relations, self.place, self.overtaken)


class _Scored(Struct):
    rule: Rule
    odds: float
    fit: Fit
    found: list[Witness]
    decisive: bool


def rank_entries(
    hits: Hits,
    rules: RuleSet,
    facts: FactSet,
    relations: Mapping[str, Told],
    place: Place,
    overtaken: Mapping[tuple[str, int], bool] | None = None,
) -> Ranking:
    """Score every entry that has a matched signature.

    Args:
        hits: matched lines by entry and signature.
        rules: the compiled catalog.
        facts: what is known.
        relations: names of the relations that hold.
        place: where the failure began.
        overtaken: lines (file, number) after which the run made progress.
    """
    scored: list[_Scored] = []
    ruled_out: list[RuledOut] = []
    for rule in rules.rules:
        if rule.id not in hits and not any(signature.body == "relation" for signature in rule.signatures):
            continue
        item = _score(
            rule, _standing_first(hits.get(rule.id, {}), overtaken or {}), facts, relations, place, overtaken or {}
        )
        if item is None:
            continue
        if item.fit.contradicted:
            if item.odds > 0:
                ruled_out.append(RuledOut(rule.id, item.fit.contradicted[0]))
            continue
        scored.append(item)
    _settle_families(scored)
    _settle_tiers(scored)
    scored.sort(key=lambda item: (-item.odds, item.rule.id))
    hypotheses = [_hypothesis(item) for item in scored]
    best = hypotheses[0].confidence if hypotheses else 0.0
    explained = weights.confidence(weights.EXPLAINED) - 0.01
    good = [item for item in hypotheses if best >= weights.MATCHED and item.confidence >= explained]
    near = [item for item in hypotheses if 0.08 <= item.confidence < weights.MATCHED and item not in good]
    return Ranking(tuple(good[:8]), tuple(ruled_out[:6]), tuple(near[:6]))


def _standing_first(hits: Mapping[str, list[Seen]], overtaken: Mapping[tuple[str, int], bool]) -> dict[str, list[Seen]]:
    """Put the lines that no progress followed in front: buffered output repeats some where they mean nothing."""
    return {
        name: sorted(lines, key=lambda seen: overtaken.get((seen.line.file, seen.line.number), False))
        for name, lines in hits.items()
    }


def _score(
    rule: Rule,
    hits: Mapping[str, list[Seen]],
    facts: FactSet,
    relations: Mapping[str, Told],
    place: Place,
    overtaken: Mapping[tuple[str, int], bool],
) -> _Scored | None:
    found = witnesses(rule, hits, facts, relations)
    telling = [item for item in found if item.signature.strength != "part" and item.signature.body != "fact"]
    if not telling:
        return None
    conditions = fit(rule.requires, rule.excludes, facts)
    odds = weights.PRIOR[rule.frequency] + sum(_independent(found, rule, overtaken).values())
    odds += min(weights.FACT_FITS * len(conditions.fits), weights.FACT_FITS_MOST)
    odds += weights.FACT_UNKNOWN * len(conditions.unknown) + weights.FACT_DOUBTED * len(conditions.doubted)
    lines = [line for item in telling for line in item.lines]
    at_start = place.known and any(
        (line.line.file, line.line.number) in place.lines or (line.block >= 0 and line.block in place.blocks)
        for line in lines
    )
    if place.known and lines:
        odds += weights.INITIATING_PLACE if at_start else weights.ELSEWHERE
    decisive = any(item.signature.strength == "decisive" for item in telling)
    return _Scored(rule, odds, conditions, found, decisive)


def _independent(
    found: Iterable[Witness], rule: Rule, overtaken: Mapping[tuple[str, int], bool]
) -> dict[object, float]:
    """Return the strongest weight of each source of evidence: one traceback, one message however often printed."""
    best: dict[object, float] = {}
    combined = {name for item in found if item.signature.members for name in item.signature.members}
    for item in found:
        weight = weights.STRENGTH[item.signature.strength]
        if not weight:
            continue
        if item.first is None:
            source: object = item.fact.name if item.fact is not None else item.relation
        elif item.first.block >= 0:
            source = "block", item.first.block
        else:
            source = "text", _DIGITS.sub("N", item.first.line.text[:160])
        if item.signature.name in combined and item.signature.strength != "decisive":
            weight *= 0.5  # what a combination already counts
        if (
            rule.kind not in _PERSISTENT_KINDS
            and item.lines
            and all(overtaken.get((line.line.file, line.line.number), False) for line in item.lines)
        ):
            weight = min(weight, 0.3)
        best[source] = max(best.get(source, 0.0), weight)
    return best


def _settle_families(scored: list[_Scored]) -> None:
    """Let a child with evidence of its own win over its generic parent."""
    by_id = {item.rule.id: item for item in scored}
    for item in scored:
        parent = by_id.get(item.rule.parent or "")
        if parent is None:
            continue
        if weights.confidence(item.odds) >= weights.MATCHED:
            parent.odds = min(parent.odds, item.odds - weights.CHILD, weights.EXPLAINED)


def _tier(item: _Scored) -> int:
    """Rank what names a failure before what says its kind, and what began before what followed."""
    rule = item.rule
    if rule.standing == "summary":
        return 1 if item.decisive and rule.role == "initiating" else 4
    return (2 if rule.role == "collateral" else 0) + (1 if rule.standing == "generic" else 0)


def _settle_tiers(scored: list[_Scored]) -> None:
    """Let an entry of a lower tier never win where one of a higher tier has its evidence."""
    for tier in (1, 2, 3, 4):
        above = [
            item.odds for item in scored if _tier(item) < tier and weights.confidence(item.odds) >= weights.MATCHED
        ]
        if above:
            for item in scored:
                if _tier(item) == tier:
                    item.odds = min(item.odds, max(above) - weights.TIER, weights.EXPLAINED)


def _hypothesis(item: _Scored) -> Hypothesis:
    order = {"decisive": 0, "strong": 1, "supporting": 2, "part": 3}
    shown = sorted(
        (found for found in item.found if found.signature.strength != "part"),
        key=lambda found: order[found.signature.strength],
    )
    evidence: list[Evidence] = []
    told: set[tuple[str, int]] = set()
    for found in shown:
        for piece in _evidence(found):
            key = (piece.file or piece.name, piece.line or 0)
            if key not in told:
                told.add(key)
                evidence.append(piece)
    evidence += item.fit.fits
    return Hypothesis(
        item.rule.id,
        item.rule.title,
        round(min(weights.confidence(item.odds), 0.98), 3),
        item.rule.role,
        tuple(evidence),
        item.fit.doubted,
        item.fit.unknown,
        item.rule.origin,
    )


def _evidence(found: Witness) -> Iterable[Evidence]:
    signature = found.signature
    if found.fact is not None:
        fact = found.fact
        yield Evidence(
            "fact", fact.name, fact.file, fact.line, fact.rank, None, f"{fact.name} = {fact.value}", signature.strength
        )
    elif found.relation is not None:
        yield Evidence("relation", found.relation, text=found.said, strength=signature.strength)
    lines = found.lines if signature.members else found.lines[:1]
    for seen in lines[:4]:
        line = seen.line
        yield Evidence(
            "signature",
            signature.name,
            line.file,
            line.number,
            line.rank,
            line.time,
            line.text[:400],
            signature.strength,
            found.count if not signature.members else 1,
        )
