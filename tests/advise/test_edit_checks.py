"""`denpex kb check` on edits, needs and results: what a program would do for the user must be right."""

from __future__ import annotations

from pathlib import Path

import pytest

from denpex_kb import KnowledgeBase
from denpex_kb.catalog.checks import Scope, check_catalog
from denpex_kb.catalog.load import load_catalog
from tests.conftest import ENTRY


def findings(kb: KnowledgeBase, folder: Path, old: str, new: str) -> list[str]:
    root = folder / "catalog"
    (root / "deepspeed").mkdir(parents=True)
    text = ENTRY.format(id="our-xyzzy-fails")
    assert old in text
    (root / "deepspeed" / "our-xyzzy-fails.md").write_text(text.replace(old, new), encoding="utf-8")
    loaded = load_catalog(root)
    shared = kb.index.kb
    return [finding.message for finding in check_catalog(loaded, shared, Scope(shared, loaded.entries))]


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        ("{file: deepspeed, key: zero_optimization.stage}", "needs a `value`"),
        ("{file: deepspeed, key: a, value: 1, remove: true}", "takes no value"),
        ("{file: deepspeed, key: a, value: 1, add: true}", "wants a list"),
        ('{file: deepspeed, key: a, value: "{model.nothing}"}', "is no fact"),
        ("{file: deepspeed, key: a, value: 1, variant: Nowhere}", "no variant of the fix"),
        ('{file: deepspeed, key: a, value: 1, when: ["torch is new"]}', "is no condition"),
        ('{file: deepspeed, key: a, value: 1, when: ["zero.stag = 3"]}', "unknown fact"),
        ("{file: trainers, key: a, value: 1}", "trainers"),
        ('{file: deepspeed, key: "a..b", value: 1}', "edits[0].key"),
    ],
)
def test_an_edit_that_is_wrong_is_named(kb: KnowledgeBase, tmp_path: Path, edit: str, says: str) -> None:
    assert any(says in message for message in findings(kb, tmp_path, "action:", f"edits: [{edit}]\naction:"))


def test_a_right_edit_passes(kb: KnowledgeBase, tmp_path: Path) -> None:
    edit = '{file: deepspeed, key: zero_optimization.x, value: ["{model.moe_block}"], add: true, variant: Say it}'
    found = findings(kb, tmp_path, "action:", f"edits: [{edit}]\nresult: {{prints: 'ok', never: 'bad'}}\naction:")

    assert [message for message in found if "sample" not in message] == []


def test_a_result_that_is_no_expression_is_named(kb: KnowledgeBase, tmp_path: Path) -> None:
    found = findings(kb, tmp_path, "action:", "result: {prints: '(x'}\naction:")

    assert any("no regular expression" in message for message in found)


@pytest.mark.parametrize(
    ("needs", "says"), [("`zero.stage = 3`", "is no version"), ("`torch.verzion >=2`", "unknown fact")]
)
def test_needs_are_versions(kb: KnowledgeBase, tmp_path: Path, needs: str, says: str) -> None:
    found = findings(kb, tmp_path, "1. Say it aloud.", f"Needs: {needs}\n1. Say it aloud.")

    assert any(says in message for message in found)
