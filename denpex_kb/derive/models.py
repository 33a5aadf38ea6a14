"""What follows from the model family and the versions: MoE block, what it does with idle experts, who marks it."""

from __future__ import annotations

from collections.abc import Iterator

from denpex_kb.model.conditions import version_in
from denpex_kb.model.facts import Fact, FactSet
from denpex_kb.model.kb import Kb, ModelFamily


def derive_model_facts(facts: FactSet, kb: Kb) -> None:
    """Add what the model family implies; a fact that is known already is left as it is."""
    families = {family.id: family for family in kb.models}
    known = [families[str(value)] for value in facts.values("model.family") if str(value) in families]
    if len(known) > 1 and all(family.moe for family in known):
        known = [_most_specific(known)]
    if len(known) != 1:
        return
    family = known[0]
    said = facts.of("model.family")[0]
    for name, value, because in _implied(family, facts, kb):
        if name not in facts:
            facts.add(Fact(name, value, "derived", said.file, said.line, None, because))


def _most_specific(families: list[ModelFamily]) -> ModelFamily:
    """Of families named by one phrase (`30B-A3B`), take the first: the file lists the commonest first."""
    return families[0]


def _implied(family: ModelFamily, facts: FactSet, kb: Kb) -> Iterator[tuple[str, str | bool, str]]:
    yield "model.moe", family.moe, f"{family.title} is {'a mixture of experts' if family.moe else 'dense'}"
    if family.multimodal:
        yield "model.multimodal", True, f"{family.title} has a vision or audio tower"
    block = family.moe_block
    transformers = facts.value("transformers.version")
    # the checkpoint's own code keeps its own loop, whatever transformers holds
    own_code = facts.value("model.remote_code") is True
    if transformers is not None and not own_code:
        for item in family.experts:
            if version_in(str(transformers), item.transformers):
                block = item.moe_block or block
                yield "model.experts", item.is_, f"{family.title} in transformers {transformers}"
        if _is_absent(family, facts):
            yield "model.experts", "absent", f"{family.title} came into transformers with {family.since}"
    if block:
        yield "model.moe_block", block, f"{family.title}'s block that routes tokens to experts"
    marked_by = marks_itself(family, facts, kb)
    if marked_by is not None:
        yield "deepspeed.leaf_modules", "by-default", marked_by
    yield from _trainer_marks(family, facts, kb)


def _trainer_marks(family: ModelFamily, facts: FactSet, kb: Kb) -> Iterator[tuple[str, str | bool, str]]:
    """Say from which version on the framework that drives the loop marks this family, if it ever does."""
    trainer = facts.value("trainer")
    lists = [item for item in kb.self_marking if item.framework == trainer]
    since = next((item.versions.removeprefix(">=") for item in lists if family.id in item.families), None)
    if lists:
        yield "trainer.marks_block", since is not None, f"the list of {trainer}"
    if since is not None:
        yield "trainer.marks_since", since, f"the list of {trainer}"


def _is_absent(family: ModelFamily, facts: FactSet) -> bool:
    """Say whether the transformers in use is known not to hold the family yet."""
    version = facts.value("transformers.version")
    return version is not None and bool(family.since) and version_in(str(version), f"<{family.since}") is True


def marks_itself(family: ModelFamily, facts: FactSet, kb: Kb) -> str | None:
    """Say which framework in use marks this family's block as a ZeRO-3 leaf module by itself, if any is known to."""
    for item in kb.self_marking:
        version = facts.value(f"{item.framework}.version")
        # DeepSpeed's defaults are paths in transformers, which a checkpoint's own code does not have
        ours = facts.value("model.remote_code") is not True and not _is_absent(family, facts)
        used = (item.framework == "deepspeed" and ours) or item.framework in facts.values("trainer")
        if used and version is not None and family.id in item.families and version_in(str(version), item.versions):
            return f"{item.framework} {version} marks it by itself"
    return None
