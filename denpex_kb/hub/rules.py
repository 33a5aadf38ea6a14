"""The rules of the command line as data for the browser."""

from __future__ import annotations

import re

import msgspec

from denpex_kb.catalog.literals import literals
from denpex_kb.hub.library import Library
from denpex_kb.index.build import make_rules
from denpex_kb.match import weights
from denpex_kb.model.conditions import Condition
from denpex_kb.model.kb import ModelFamily
from denpex_kb.model.rules import UNSCANNED_MARKS, Rule, ScanPattern

SCHEMA = "denpex.rules/1"


def rules_json(library: Library, known: dict[str, tuple[str, ...]]) -> bytes:
    """Write rules, patterns, weights, prefixes and model families as JSON.

    Args:
        library: the entries.
        known: literals of patterns, worked out by an earlier build; added to.
    """
    kb = library.kb
    rule_set, _ = make_rules(library.entries, kb)
    for pattern in rule_set.patterns:
        if pattern.pattern not in known:
            known[pattern.pattern] = literals(pattern.pattern)
    data = {
        "schema": SCHEMA,
        "patterns": [
            _pattern(pattern, known[pattern.pattern])
            for pattern in rule_set.patterns
            if _useful(pattern, known[pattern.pattern])
        ],
        "rules": [_rule(rule, library) for rule in rule_set.rules],
        "prefixes": [
            {
                "id": item.id,
                "pattern": _javascript(item.pattern),
                "gives": item.gives,
                "starts": item.starts,
                "sampled": item.sampled,
                "keep": item.keep,
                "weight": item.weight,
            }
            for item in kb.prefixes
        ],
        "families": [_family(family) for family in kb.models if family.architectures or family.moe],
        "selfMarking": [
            {"framework": item.framework, "versions": item.versions, "families": item.families}
            for item in kb.self_marking
        ],
        "weights": {
            "prior": weights.PRIOR,
            "strength": weights.STRENGTH,
            "factFits": weights.FACT_FITS,
            "factFitsMost": weights.FACT_FITS_MOST,
            "factUnknown": weights.FACT_UNKNOWN,
            "initiatingPlace": weights.INITIATING_PLACE,
            "elsewhere": weights.ELSEWHERE,
            "child": weights.CHILD,
            "explained": weights.EXPLAINED,
            "tier": weights.TIER,
            "matched": weights.MATCHED,
        },
    }
    return msgspec.json.encode(data)


def _useful(pattern: ScanPattern, needed: tuple[str, ...]) -> bool:
    """Leave out what only tells hosts apart and would have every line looked at."""
    return pattern.target != "mark" or pattern.name != "context" or bool(needed)


def _pattern(pattern: ScanPattern, needed: tuple[str, ...]) -> list[object]:
    late = pattern.target == "mark" and pattern.name in UNSCANNED_MARKS
    return [
        _javascript(pattern.pattern),
        _javascript(pattern.unless) if pattern.unless else None,
        pattern.where,
        pattern.target,
        pattern.owner,
        pattern.name,
        pattern.value,
        pattern.gives,
        () if late else needed,
        late,
    ]


def _javascript(pattern: str) -> str:
    """Write a pattern as JavaScript reads it; only escapes of single characters differ."""
    return re.sub(
        r"\\(['\"#&~ @%`<>!,;:=_-])", lambda match: match.group(1) if match.group(1) != "-" else "\\-", pattern
    )


def _rule(rule: Rule, library: Library) -> dict[str, object]:
    return {
        "id": rule.id,
        "title": rule.title,
        "hub": rule.hub,
        "kind": rule.kind,
        "role": rule.role,
        "standing": rule.standing,
        "frequency": rule.frequency,
        "parent": rule.parent,
        "action": library.by_id[rule.id].meta.action.text,
        "signatures": [
            {
                "name": item.name,
                "strength": item.strength,
                "body": item.body,
                "members": item.members,
                "forbidden": item.forbidden,
                "within": item.within,
                "condition": _condition(item.condition) if item.condition else None,
                "relation": item.relation,
            }
            for item in rule.signatures
        ],
        "requires": [_condition(item) for item in rule.requires],
        "excludes": [_condition(item) for item in rule.excludes],
    }


def _condition(condition: Condition) -> dict[str, object]:
    return {"fact": condition.fact, "operator": condition.operator, "values": condition.values}


def _family(family: ModelFamily) -> dict[str, object]:
    return {
        "id": family.id,
        "title": family.title,
        "moe": family.moe,
        "multimodal": family.multimodal,
        "experts": [{"transformers": item.transformers, "is": item.is_} for item in family.experts],
    }
