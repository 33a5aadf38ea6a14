"""Whether an entry of a private catalog can be used at all: a broken one is left out, the rest still works."""

from __future__ import annotations

import re
from collections.abc import Iterator

import hyperscan

from denpex_kb.catalog.patterns import hyperscan_check
from denpex_kb.model.conditions import ConditionError, parse_condition, version_in
from denpex_kb.model.entry import Entry, Signature


def unusable(entry: Entry) -> str | None:
    """Say why an entry would break the index or the advice; None where it is usable."""
    return next(_faults(entry), None)


def _faults(entry: Entry) -> Iterator[str]:
    names = {signature.name for signature in entry.meta.signatures}
    for signature in entry.meta.signatures:
        for message in _signature_faults(signature, names):
            yield f"signature {signature.name}: {message}"
    for text in _conditions(entry):
        try:
            condition = parse_condition(text)
            if condition.operator == "in":
                version_in("1.0", condition.values[0])
        except (ConditionError, ValueError) as error:
            yield f"condition {text!r}: {error}"
    if entry.meta.result is not None:
        for pattern in (entry.meta.result.prints, entry.meta.result.never):
            yield from _expression_faults(pattern)


def _signature_faults(signature: Signature, names: set[str]) -> Iterator[str]:
    bodies = [signature.pattern, signature.fact, signature.relation]
    if sum(map(bool, (*bodies, signature.all_of, signature.any_of, signature.sequence))) != 1:
        yield "needs exactly one of pattern, fact, relation, all_of, any_of, sequence"
    if not names.issuperset((*signature.members, *signature.forbidden)):
        yield "combines a signature that is not defined"
    yield from _expression_faults(signature.unless)
    yield from _expression_faults(signature.pattern)
    if signature.pattern:
        try:
            hyperscan_check(signature.pattern)
        except hyperscan.error as error:
            yield f"Hyperscan refuses the pattern: {error}"


def _expression_faults(pattern: str | None) -> Iterator[str]:
    try:
        re.compile(pattern or "")
    except re.error as error:
        yield f"{pattern!r} is no regular expression: {error}"


def _conditions(entry: Entry) -> Iterator[str]:
    meta = entry.meta
    yield from (*meta.requires, *meta.excludes)
    if meta.preflight is not None:
        yield from (*meta.preflight.requires, *meta.preflight.excludes)
        for rule in meta.preflight.rules:
            yield from (*rule.requires, *rule.excludes)
    for signature in meta.signatures:
        if signature.fact:
            yield signature.fact
    for variant in entry.body.fix.variants:
        yield from (*variant.when, *variant.needs)
    for edit in meta.edits:
        yield from edit.when
