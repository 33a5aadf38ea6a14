"""The central entry's fix in every cell of trainers x DeepSpeed x transformers x model families.

The expected values are written down here from what DeepSpeed, Accelerate, transformers and the frameworks do, read in
their sources; nothing here is computed by the code under test.
"""

from __future__ import annotations

from itertools import product

import pytest

from denpex_kb import KnowledgeBase
from denpex_kb.advise.fix import fit_fix
from denpex_kb.derive.models import derive_model_facts
from denpex_kb.model.diagnosis import FixAdvice
from denpex_kb.model.facts import Fact, FactSet
from tests.conftest import CENTRAL

TRAINERS = ("plain", "accelerate", "hf-trainer", "trl", "llama-factory", "ms-swift", "axolotl", "openrlhf")
DEEPSPEED = ("0.12.6", "0.14.4", "0.16.9", "0.18.4")
TRANSFORMERS = ("4.46", "4.57", "5.2")
FAMILIES = ("mixtral", "qwen3_moe", "deepseek_v3", "gpt_oss", "switch_transformers")

# What the block does with an expert that receives no token; None: the release does not hold the model.
EXPERTS = {
    ("mixtral", "4.46"): "every expert",
    ("mixtral", "4.57"): "skips",
    ("mixtral", "5.2"): "fused",
    ("qwen3_moe", "4.46"): None,
    ("qwen3_moe", "4.57"): "skips",
    ("qwen3_moe", "5.2"): "fused",
    ("deepseek_v3", "4.46"): None,
    ("deepseek_v3", "4.57"): "skips",
    ("deepseek_v3", "5.2"): "fused",
    ("gpt_oss", "4.46"): None,
    ("gpt_oss", "4.57"): "fused",
    ("gpt_oss", "5.2"): "fused",
    ("switch_transformers", "4.46"): "skips",
    ("switch_transformers", "4.57"): "skips",
    ("switch_transformers", "5.2"): "skips",
}
BLOCK = {
    ("mixtral", "4.57"): "MixtralSparseMoeBlock",
    ("qwen3_moe", "4.57"): "Qwen3MoeSparseMoeBlock",
    ("deepseek_v3", "4.57"): "DeepseekV3MoE",
    ("switch_transformers", "4.46"): "SwitchTransformersLayerFF",
    ("switch_transformers", "4.57"): "SwitchTransformersLayerFF",
    ("switch_transformers", "5.2"): "SwitchTransformersExperts",
}
# DeepSpeed marks these by itself from 0.18.0 on.
DEFAULTS = ("mixtral", "qwen3_moe")
# The framework's version from which it marks the family by itself.
FRAMEWORK_MARKS = {
    ("llama-factory", "mixtral"): "0.5.2",
    ("llama-factory", "qwen3_moe"): "0.9.3",
    ("llama-factory", "deepseek_v3"): "0.9.3",
    ("ms-swift", "qwen3_moe"): "3.9.0",
    ("axolotl", "mixtral"): "0.4.0",
    ("axolotl", "qwen3_moe"): "0.9.1",
    ("axolotl", "deepseek_v3"): "0.13.0",
    ("openrlhf", "mixtral"): "0.1.7",
    ("openrlhf", "qwen3_moe"): "0.8.9.post1",
}
PACKAGE = {"llama-factory": "llamafactory", "ms-swift": "ms-swift", "axolotl": "axolotl", "openrlhf": "openrlhf"}
VARIABLE = "export ACCELERATE_DEEPSPEED_MOE_LAYER_CLS_NAMES={}"
CELLS = list(product(TRAINERS, DEEPSPEED, TRANSFORMERS, FAMILIES))


def fitted(kb: KnowledgeBase, *facts: Fact) -> FixAdvice:
    known = FactSet(facts)
    derive_model_facts(known, kb.index.kb)
    return fit_fix(kb.entry(CENTRAL), known, kb.index.kb, observed=False)


def said(name: str, value: str | int | bool) -> Fact:
    return Fact(name, value, "answer")


def cell(kb: KnowledgeBase, trainer: str, deepspeed: str, transformers: str, family: str) -> FixAdvice:
    return fitted(
        kb,
        said("trainer", trainer),
        said("deepspeed.version", deepspeed),
        said("transformers.version", transformers),
        said("model.family", family),
        said("zero.stage", 3),
    )


def how(trainer: str, deepspeed: str, family: str, block: str) -> list[str]:
    """Return the texts of which one must stand in the fix's code."""
    marked_since = FRAMEWORK_MARKS.get((trainer, family))
    code = f'block = "{block}"'
    key = f'"leaf_module": {{"classes": ["{block}"]}}'
    recent = deepspeed == "0.18.4"
    if marked_since:
        return [f'pip install -U "{PACKAGE[trainer]}>={marked_since}"']
    if trainer == "openrlhf":  # it writes the DeepSpeed config itself
        return ["set_z3_leaf_modules(self.model"]
    if trainer == "plain":
        return [code, key] if recent else [code]
    if trainer == "accelerate":
        return [f'deepspeed_moe_layer_cls_names: "{block}"']
    if trainer in ("llama-factory", "ms-swift", "axolotl"):
        return [key] if recent else [VARIABLE.format(block)]
    return [VARIABLE.format(block), key] if recent else [VARIABLE.format(block)]


@pytest.mark.parametrize(("trainer", "deepspeed", "transformers", "family"), CELLS)
def test_the_fix_is_right_or_says_why_none_is_needed(
    kb: KnowledgeBase, trainer: str, deepspeed: str, transformers: str, family: str
) -> None:
    fix = cell(kb, trainer, deepspeed, transformers, family)
    experts = EXPERTS[family, transformers]
    if experts != "skips":
        words = {None: "does not hold the model", "fused": "one parameter", "every expert": "calls every expert"}
        assert not fix.needed
        assert words[experts] in fix.why_not
        return
    if deepspeed == "0.18.4" and family in DEFAULTS:
        assert not fix.needed
        assert "deepspeed 0.18.4 marks it by itself" in fix.why_not
        return

    code = "\n".join(snippet.text for snippet in fix.snippets)
    block = BLOCK[family, transformers]
    assert fix.needed
    assert any(text in code for text in how(trainer, deepspeed, family, block)), code
    assert fix.cost
    assert fix.undo
    assert not fix.placeholders


@pytest.mark.parametrize(("trainer", "deepspeed", "transformers", "family"), CELLS)
def test_no_fix_is_shown_for_a_newer_deepspeed_without_the_upgrade_as_its_first_step(
    kb: KnowledgeBase, trainer: str, deepspeed: str, transformers: str, family: str
) -> None:
    fix = cell(kb, trainer, deepspeed, transformers, family)
    if not fix.needed:
        return
    first = fix.steps[0]
    code = "\n".join(snippet.text for snippet in fix.snippets)
    if deepspeed == "0.12.6":  # training with a leaf works from 0.13.2 on, Accelerate wants 0.14.0
        least = "0.14.0" if "ACCELERATE" in code or "moe_layer_cls_names" in code else "0.13.2"
        assert first.startswith("First upgrade DeepSpeed: 0.12.6 is installed")
        assert f'pip install -U "deepspeed>={least}"' in first
        assert "deepspeed==0.12.6" in fix.undo
    else:
        assert "upgrade DeepSpeed" not in first
    if "leaf_module" in code and '"classes"' in code:
        assert deepspeed == "0.18.4"
    assert "stage3_module_granularity_threshold" not in code


def test_every_cell_was_looked_at() -> None:
    assert len(CELLS) == 480


@pytest.mark.parametrize(("trainer", "family"), list(FRAMEWORK_MARKS))
def test_a_framework_that_marks_the_block_by_itself_needs_no_fix(kb: KnowledgeBase, trainer: str, family: str) -> None:
    fix = fitted(
        kb,
        said("trainer", trainer),
        said(f"{trainer}.version", FRAMEWORK_MARKS[trainer, family]),
        said("deepspeed.version", "0.16.9"),
        said("transformers.version", "4.57"),
        said("model.family", family),
    )

    assert not fix.needed
    assert f"{trainer} {FRAMEWORK_MARKS[trainer, family]} marks it by itself" in fix.why_not


def test_code_from_the_checkpoint_is_marked_in_any_transformers_version(kb: KnowledgeBase) -> None:
    for transformers in TRANSFORMERS:
        fix = fitted(
            kb,
            said("model.family", "deepseek_v3"),
            said("model.remote_code", True),
            said("transformers.version", transformers),
            said("deepspeed.version", "0.18.4"),
        )
        assert fix.needed


def test_what_is_unknown_stays_a_named_placeholder_with_how_to_find_it(kb: KnowledgeBase) -> None:
    fix = fitted(kb, said("trainer", "accelerate"))
    code = fix.snippets[0].text

    assert "<class-of-the-MoE-block>" in code
    assert "named" not in fix.placeholders["<class-of-the-MoE-block>"]
    assert "model.modules()" in fix.placeholders["<class-of-the-MoE-block>"]
    assert any("deepspeed.version >=0.14.0" in need and "import deepspeed" in need for need in fix.needs)
