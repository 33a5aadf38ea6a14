"""Changes of config files: only the key changes, everything else stays as the user wrote it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from denpex_kb import KnowledgeBase
from denpex_kb.advise.textedit import EditRefusedError, edit_text

DS = """{
    "train_micro_batch_size_per_gpu": "auto",
    "zero_optimization": {
        "stage": 3,
        "offload_param": {"device": "cpu"},
        "overlap_comm": true
    },
    "bf16": { "enabled":true }
}
"""
ACCELERATE = """# our cluster
compute_environment: LOCAL_MACHINE   # one node
deepspeed_config:
  # do not touch
  zero_stage: 3
  offload_param_device: 'none'

distributed_type: DEEPSPEED
num_processes: 8
"""


def test_a_key_is_put_behind_the_last_of_its_mapping_with_the_indent_of_the_file() -> None:
    after = edit_text("ds.json", DS, "zero_optimization.leaf_module.classes", ["A"])

    assert after == DS.replace(
        '"overlap_comm": true\n',
        '"overlap_comm": true,\n        "leaf_module": {\n            "classes": ["A"]\n        }\n',
    )


def test_a_value_is_replaced_where_it_stands() -> None:
    assert edit_text("ds.json", DS, "bf16.enabled", False) == DS.replace('"enabled":true', '"enabled":false')
    assert edit_text("a.yaml", ACCELERATE, "deepspeed_config.zero_stage", 2) == ACCELERATE.replace(
        "zero_stage: 3", "zero_stage: 2"
    )


def test_a_mapping_on_one_line_stays_on_one_line() -> None:
    after = edit_text("ds.json", DS, "bf16.loss_scale", 0)

    assert '"bf16": { "enabled":true, "loss_scale": 0 }' in after


def test_yaml_keeps_comments_and_blank_lines() -> None:
    after = edit_text("a.yaml", ACCELERATE, "deepspeed_config.deepspeed_moe_layer_cls_names", "MixtralSparseMoeBlock")

    assert after == ACCELERATE.replace(
        "  offload_param_device: 'none'\n",
        "  offload_param_device: 'none'\n  deepspeed_moe_layer_cls_names: MixtralSparseMoeBlock\n",
    )


def test_what_is_missing_on_the_way_is_made() -> None:
    assert json.loads(edit_text("ds.json", "{}", "checkpoint.load_universal", True)) == {
        "checkpoint": {"load_universal": True}
    }
    assert yaml.safe_load(edit_text("a.yaml", "a: 1", "b.c.d", [1, "x"])) == {"a": 1, "b": {"c": {"d": [1, "x"]}}}
    assert yaml.safe_load(edit_text("a.yaml", "", "b.c", "no")) == {"b": {"c": "no"}}


@pytest.mark.parametrize(
    ("held", "expected"),
    [('["A"]', ["A", "B"]), ('["B"]', ["B"]), ("[]", ["B"]), ("null", ["B"])],
)
def test_adding_keeps_what_stands_there(held: str, expected: list[str]) -> None:
    text = f'{{"leaf_module": {{"classes": {held}}}}}'

    assert json.loads(edit_text("x.json", text, "leaf_module.classes", ["B"], add=True)) == {
        "leaf_module": {"classes": expected}
    }


def test_adding_to_names_separated_by_commas() -> None:
    assert edit_text("a.yaml", "names: A\n", "names", "B", add=True) == 'names: "A,B"\n'
    assert edit_text("a.yaml", "names: A,B\n", "names", "B", add=True) == "names: A,B\n"


@pytest.mark.parametrize(
    "key", ["train_micro_batch_size_per_gpu", "zero_optimization.offload_param", "bf16", "bf16.enabled"]
)
def test_a_key_is_removed_without_a_trace(key: str) -> None:
    after = edit_text("ds.json", DS, key, None, remove=True)
    wanted: Any = json.loads(DS)
    *way, last = key.split(".")
    at = wanted
    for step in way:
        at = at[step]
    del at[last]

    assert json.loads(after) == wanted


def test_removing_what_is_not_there_changes_nothing() -> None:
    assert edit_text("ds.json", DS, "optimizer", None, remove=True) == DS
    assert edit_text("a.yaml", ACCELERATE, "optimizer.x", None, remove=True) == ACCELERATE


def test_windows_line_ends_and_the_byte_order_mark_stay() -> None:
    text = "\ufeff" + DS.replace("\n", "\r\n")
    after = edit_text("ds.json", text, "zero_optimization.stage", 2)

    assert after == text.replace('"stage": 3', '"stage": 2')


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("ds.json", '{"a": 1, "a": 2}', "twice"),
        ("ds.json", "{", "cannot be read"),
        ("ds.json", "[]", "no mapping"),
        ("ds.json", '{"zero_optimization": 3}', "no mapping there"),
        ("a.yaml", "base: &b {x: 1}\nother: *b\n", "anchors"),
        ("a.yaml", "a: [", "cannot be read"),
    ],
)
def test_what_cannot_be_changed_safely_is_refused_with_the_reason(name: str, text: str, says: str) -> None:
    with pytest.raises(EditRefusedError, match=says):
        edit_text(name, text, "zero_optimization.stage", 2)


_KEYS = st.sampled_from(["a", "b", "stage", "zero_optimization", "x-y"])
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6) | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=8,
)
_CONFIGS = st.dictionaries(_KEYS, _VALUES, max_size=4)


@settings(max_examples=300, deadline=None)
@given(
    data=_CONFIGS, key=st.lists(_KEYS, min_size=1, max_size=3), value=_VALUES, indent=st.sampled_from([None, 1, 2, 4])
)
def test_any_json_is_changed_at_the_key_only_or_refused(
    data: Any, key: list[str], value: Any, indent: int | None
) -> None:
    text = json.dumps(data, indent=indent)
    try:
        after = edit_text("x.json", text, ".".join(key), value)
    except EditRefusedError:
        return
    assert _at(json.loads(after), key) == value
    assert _without(json.loads(after), key[0]) == _without(data, key[0])


@settings(max_examples=300, deadline=None)
@given(
    data=_CONFIGS, key=st.lists(_KEYS, min_size=1, max_size=3), value=_VALUES, flow=st.sampled_from([None, False, True])
)
def test_any_yaml_is_changed_at_the_key_only_or_refused(
    data: Any, key: list[str], value: Any, flow: bool | None
) -> None:
    text = yaml.safe_dump(data, default_flow_style=flow)
    try:
        after = edit_text("x.yaml", text, ".".join(key), value)
    except EditRefusedError:
        return
    assert _at(yaml.safe_load(after), key) == value
    assert _without(yaml.safe_load(after), key[0]) == _without(data, key[0])


def _at(data: Any, key: list[str]) -> Any:
    for step in key:
        data = data[step]
    return data


def _without(data: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name != key}


def test_every_edit_of_the_catalog_can_be_made_in_an_empty_config(kb: KnowledgeBase) -> None:
    entries = [kb.entry(summary.id) for summary in kb.entries()]
    edits = [(entry.id, edit) for entry in entries for edit in entry.meta.edits]

    assert len({entry for entry, _ in edits}) >= 9
    for _, edit in edits:
        value = edit.value if not isinstance(edit.value, tuple) else list(edit.value)
        for name, text in (("x.json", "{}"), ("x.yaml", "{}\n")):
            edit_text(name, text, edit.key, value, remove=edit.remove, add=edit.add)


def test_copies_are_never_overwritten_and_links_stay(tmp_path: Path) -> None:
    from denpex_kb.cli.fixing import write_with_copy

    real = tmp_path / "real.json"
    real.write_text("1")
    real.chmod(0o640)
    link = tmp_path / "ds.json"
    link.symlink_to(real)
    first = write_with_copy(link, "1", "2")
    second = write_with_copy(link, "2", "3")

    assert (first.name, second.name) == ("real.json.bak", "real.json.bak.1")
    assert (first.read_text(), second.read_text(), real.read_text()) == ("1", "2", "3")
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "ds.json",
        "real.json",
        "real.json.bak",
        "real.json.bak.1",
    ]
