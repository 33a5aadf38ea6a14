"""Every rule of the preflight has an example set-up that it warns of and one that it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from denpex_kb import KnowledgeBase
from denpex_kb.catalog.kbfiles import load_kb
from denpex_kb.catalog.load import load_catalog
from denpex_kb.catalog.preflight import rule_names
from denpex_kb.check.mismatches import MISMATCHES
from denpex_kb.check.rules import make_rules
from denpex_kb.check.shapes import SHAPES
from denpex_kb.model.kb import Kb
from denpex_kb.score.setups import check_setups, run_example
from tests.conftest import ROOT

LOADED = load_catalog(ROOT / "catalog")
EARLY = {entry.id: LOADED.files[entry.id] for entry in LOADED.entries if entry.meta.preflight is not None}


@pytest.fixture(scope="module")
def shared() -> Kb:
    return load_kb(ROOT / "kb")


def test_more_than_forty_failures_are_warned_of() -> None:
    assert len(EARLY) > 40


@pytest.mark.parametrize("entry_id", sorted(EARLY))
def test_the_examples_of_an_entry_are_told_apart(entry_id: str, kb: KnowledgeBase) -> None:
    folder = EARLY[entry_id].parent / entry_id
    early = kb.entry(entry_id).meta.preflight
    assert early is not None

    assert list(check_setups(kb.index, {entry_id: EARLY[entry_id]})) == []
    assert {path.name for path in folder.glob("setup-*")} == {
        f"setup-{kind}-{name}.txt" for name in rule_names(early) for kind in ("positive", "negative")
    }


def test_a_broken_example_is_found(kb: KnowledgeBase, tmp_path: Path) -> None:
    entry_id = "dataloader-sampler-shuffle-conflict"
    folder = tmp_path / entry_id
    folder.mkdir()
    examples = EARLY[entry_id].parent / entry_id
    for kind, other in (("positive", "negative"), ("negative", "positive")):
        text = (examples / f"setup-{other}-sampler-and-shuffle.txt").read_text(encoding="utf-8")
        (folder / f"setup-{kind}-sampler-and-shuffle.txt").write_text(text, encoding="utf-8")

    messages = [item.message for item in check_setups(kb.index, {entry_id: tmp_path / f"{entry_id}.md"})]

    assert len(messages) == 2
    assert "must be warned of" in messages[0]
    assert "yet it warns" in messages[1]


def test_an_example_stays_in_its_folder(kb: KnowledgeBase) -> None:
    with pytest.raises(ValueError, match="leads out"):
        run_example(kb.index, "=== ../evil.py\nimport torch\n")


def test_the_code_shapes_are_those_that_are_declared(shared: Kb) -> None:
    declared = shared.fact("code.shape")

    assert declared is not None
    assert set(SHAPES) == set(declared.values) == set(declared.means)


def test_the_mismatches_are_those_that_are_declared(shared: Kb) -> None:
    declared = shared.fact("setup.mismatch")

    assert declared is not None
    assert set(MISMATCHES) == set(declared.values) == set(declared.means)


def test_no_observation_is_without_a_rule(shared: Kb) -> None:
    used = {
        (item.fact, value)
        for rule in make_rules(LOADED.entries, shared)
        for item in rule.requires
        for value in item.values
    }

    for name in ("code.shape", "setup.mismatch", "launch.shape"):
        declared = shared.fact(name)
        assert declared is not None
        assert {value for fact, value in used if fact == name} | {"leaf-too-late"} >= set(declared.values)
