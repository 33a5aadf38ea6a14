"""Scoring a labelled corpus: what counts as right, and how sure the figures are."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from denpex_kb import KnowledgeBase
from denpex_kb.model.diagnosis import Diagnosis, Hypothesis, InputInfo, Verdict
from denpex_kb.score.corpus import Case, by_todays_ids, group_of, is_right, rate
from tests.conftest import CENTRAL, ROOT, Ran

KNOWN = frozenset({"a", "b", "parent"})
GENERIC = frozenset({"parent"})


def case(*expect: str, also_ok: tuple[str, ...] = ()) -> Case:
    return Case(id="x", form="log", input="x", expect=expect, also_ok=also_ok)


def diagnosis(verdict: Verdict, *ids: str) -> Diagnosis:
    found = tuple(Hypothesis(id_, id_, 0.9, "initiating") for id_ in ids)
    return Diagnosis(verdict=verdict, input=InputInfo("log"), hypotheses=found)


@pytest.mark.parametrize(
    ("said", "labelled", "right"),
    [
        (diagnosis("matched", "a"), case("a"), True),
        (diagnosis("matched", "b", "a"), case("a"), False),
        (diagnosis("matched", "b"), case("a", "b"), True),
        (diagnosis("matched", "b"), case("a", also_ok=("b",)), True),
        (diagnosis("unknown"), case("a"), False),
        (diagnosis("unknown"), case("NONE"), True),
        (diagnosis("healthy"), case("NONE"), True),
        (diagnosis("stalled"), case("NONE"), True),
        (diagnosis("matched", "a"), case("NONE"), False),
        (diagnosis("stalled"), case("STALLED", "a"), True),
        (diagnosis("unknown"), case("STALLED"), False),
        (diagnosis("unknown"), case("never-written"), True),
        (diagnosis("matched", "parent"), case("never-written"), True),
        (diagnosis("matched", "a"), case("never-written"), False),
    ],
)
def test_what_counts_as_right(said: Diagnosis, labelled: Case, right: bool) -> None:
    assert is_right(said, labelled, group_of(labelled, KNOWN), GENERIC) is right


def test_a_label_that_names_an_entry_by_an_alias_means_the_entry(kb: KnowledgeBase) -> None:
    labelled = by_todays_ids(case("deepspeed-moe-zero3-hang", also_ok=("never-written",)), kb.index.current_id)

    assert labelled.expect == (CENTRAL,)
    assert labelled.also_ok == ("never-written",)
    assert group_of(labelled, frozenset(kb.index.ids())) == "known"


def test_an_interval_holds_the_share_and_narrows_with_more_cases() -> None:
    few, many = rate([True] * 9 + [False]), rate([True] * 90 + [False] * 10)

    assert few.low < 0.9 < few.high
    assert many.high - many.low < few.high - few.low


def test_a_third_of_every_family_is_held_out_and_runs_stay_on_one_side() -> None:
    parts = {
        part: [json.loads(line) for line in (ROOT / "tests/corpus" / part / "cases.jsonl").read_text().splitlines()]
        for part in ("dev", "held-out")
    }
    split = json.loads((ROOT / "tests/corpus/split.json").read_text())

    assert sorted(item["id"] for item in parts["held-out"]) == split["held_out"]
    assert not {item["run"] for item in parts["dev"]} & {item["run"] for item in parts["held-out"]}
    divided = {part: [item for item in items if item["origin"] != "threads-dev"] for part, items in parts.items()}
    for family in {item["family"] for item in divided["dev"]}:
        dev, held = (sum(item["family"] == family for item in divided[part]) for part in ("dev", "held-out"))
        assert abs(held - (dev + held) / 3) <= 1, family


def test_nothing_that_is_held_out_stands_in_the_catalog() -> None:
    held = {
        path.read_bytes()
        for path in (ROOT / "tests/corpus/held-out/inputs").rglob("*")
        if path.is_file() and path.stat().st_size > 200
    }
    samples = {path.read_bytes() for path in (ROOT / "catalog").glob("*/*/**/*") if path.is_file()}

    assert not held & samples


def test_the_gate_ends_with_1_below_the_figures_it_asks(run: Callable[..., Ran], tmp_path: Path) -> None:
    part = tmp_path / "dev"
    (part / "inputs").mkdir(parents=True)
    question = {"id": "q", "form": "query", "input": "hang first forward mixtral zero3", "expect": [CENTRAL]}
    (part / "cases.jsonl").write_bytes(msgspec.json.encode(question) + b"\n")
    gate = tmp_path / "gate.yaml"

    gate.write_text("dev: {top1: 1.0}\n")
    assert run("kb", "score", str(tmp_path), "--gate", str(gate)).status == 0
    gate.write_text("dev: {top1_logs: 1.0, brier: 5}\n")
    assert run("kb", "score", str(tmp_path), "--gate", str(gate)).status == 1
    assert run("kb", "score", str(tmp_path / "nowhere")).status == 2
