"""What follows from model, versions and framework for a set-up, as far as it is sure."""

from __future__ import annotations

from denpex_kb.check.verdicts import Known, range_in
from denpex_kb.derive.models import derive_model_facts
from denpex_kb.model.conditions import version_in
from denpex_kb.model.facts import Fact, FactSet
from denpex_kb.model.kb import Kb, ModelFamily, SelfMarking

_VERSION = "transformers.version"


def add_model_facts(known: Known, kb: Kb) -> None:
    """Add what the model's family implies, and whether anything marks its MoE block as a ZeRO-3 leaf module."""
    facts = FactSet(known.all())
    before = set(facts.names())
    derive_model_facts(facts, kb)
    for fact in facts:
        if fact.name not in before:
            known.add(fact)
    family = _family(known, kb)
    if family is None:
        return
    said = known.of("model.family")[0]
    if not known.of("model.experts") and _VERSION in known.allowed and not _own_code(known):
        allowed = known.allowed[_VERSION]
        found = {range_in(allowed.range, item.transformers): item.is_ for item in family.experts}
        if True in found:
            text = f"{family.title} in transformers {allowed.range}"
            known.add(Fact("model.experts", found[True], "derived", allowed.file, allowed.line, None, text))
    if not known.of("deepspeed.leaf_modules") and family.moe:
        verdicts = [_marks(item, family, known) for item in kb.self_marking]
        if True in verdicts:
            text = "the framework in use marks it by itself"
            known.add(Fact("deepspeed.leaf_modules", "by-default", "derived", said.file, said.line, None, text))
        elif None not in verdicts and known.of("trainer"):
            known.add(Fact("deepspeed.leaf_modules", "none", "derived", said.file, said.line, None, "nothing marks it"))


def _family(known: Known, kb: Kb) -> ModelFamily | None:
    names = {str(fact.value) for fact in known.of("model.family")}
    return next((item for item in kb.models if item.id in names), None) if len(names) == 1 else None


def _own_code(known: Known) -> bool:
    return any(fact.value is True for fact in known.of("model.remote_code"))


def _marks(item: SelfMarking, family: ModelFamily, known: Known) -> bool | None:
    """Say whether a framework in use marks this family by itself; None where its version is not known."""
    trainers = {fact.value for fact in known.of("trainer")}
    used = item.framework in trainers or (item.framework == "deepspeed" and not _own_code(known))
    if not used or family.id not in item.families:
        return False
    name = f"{item.framework}.version"
    versions = {str(fact.value) for fact in known.of(name)}
    if len(versions) == 1:
        return version_in(versions.pop(), item.versions)
    if not versions and name in known.allowed:
        return range_in(known.allowed[name].range, item.versions)
    return None
