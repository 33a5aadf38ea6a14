"""The answer comes from what tells, not from how one log looks: a few variations of a few samples in each run."""

from __future__ import annotations

import random
from hashlib import sha256
from pathlib import Path

import pytest

from denpex_kb import KnowledgeBase
from denpex_kb.score.variations import CHANGES, NOISE, SILENCED, Given, positives, vary
from tests.conftest import ROOT

SEED = 20261130
SAMPLES = [
    (path.stem, sample)
    for path in sorted((ROOT / "catalog").glob("*/*.md"))
    for sample in positives(path.parent / path.stem)
]


def drawn(kind: str, count: int) -> list[tuple[str, Path]]:
    """Draw samples so that another one in the catalog does not change which."""
    return sorted(SAMPLES, key=lambda item: sha256(f"{SEED} {kind} {item[0]} {item[1].name}".encode()).digest())[:count]


def change(kind: str, *lines: str, telling: frozenset[int] = frozenset()) -> list[str] | None:
    files = CHANGES[kind](Given(random.Random(SEED), {"": list(lines)}, {"": telling}))
    return None if files is None else files[""]


@pytest.mark.parametrize("kind", [kind for kind in CHANGES if kind != SILENCED])
def test_the_answer_stays_or_becomes_unsure_but_names_no_other_failure(kb: KnowledgeBase, kind: str) -> None:
    outcomes = [item for entry, sample in drawn(kind, 12) for item in vary(kb, entry, sample, SEED, [kind])]

    assert [item for item in outcomes if item.became == "wrong"] == []
    assert sum(item.became == "unsure" for item in outcomes) <= 2, outcomes


def test_without_the_telling_lines_the_answer_becomes_unsure(kb: KnowledgeBase) -> None:
    outcomes = [item for entry, sample in drawn(SILENCED, 25) for item in vary(kb, entry, sample, SEED, [SILENCED])]

    assert sum(item.became == "unsure" for item in outcomes) >= 0.85 * len(outcomes), outcomes


def test_the_same_seed_gives_the_same_variations(kb: KnowledgeBase) -> None:
    entry, sample = SAMPLES[0]

    assert list(vary(kb, entry, sample, SEED)) == list(vary(kb, entry, sample, SEED))


def test_ranks_change_places_and_rank_0_stays() -> None:
    assert change("ranks", "[rank0]: a", "[rank1]: b", "[rank7]: c") == ["[rank0]: a", "[rank7]: b", "[rank1]: c"]


def test_a_machine_gets_one_new_name_everywhere() -> None:
    first, second = change("hosts", "gpu-017 is down", "lost gpu-017") or ["", ""]

    assert "gpu-017" not in first
    assert first.split()[0] == second.split()[1]


def test_numbers_of_source_lines_move_and_the_message_stays() -> None:
    (line,) = change("numbers", 'File "a.py", line 12, in step: size 12 at 0x7f0000000001') or [""]

    assert line.startswith('File "a.py", line ')
    assert "line 12," not in line
    assert "size 12" in line
    assert "0x7f0000000001" not in line


@pytest.mark.parametrize(("kind", "label"), [("tee", "[default3]:"), ("srun", " 3: ")])
def test_a_launcher_labels_a_line_with_its_own_rank(kind: str, label: str) -> None:
    assert change(kind, "[rank3]: failed") == [f"{label}[rank3]: failed"]
    assert change(kind, "[default1]:failed") is None  # labelled already


def test_what_is_cut_off_is_not_what_tells() -> None:
    lines = [f"line {number}" for number in range(30)]

    assert "line 15" in (change("cut-head", *lines, telling=frozenset({15})) or [])
    assert "line 0" not in (change("cut-head", *lines, telling=frozenset({15})) or [])
    assert "line 15" in (change("cut-tail", *lines, telling=frozenset({15})) or [])
    assert "line 29" not in (change("cut-tail", *lines, telling=frozenset({15})) or [])


def test_telling_lines_are_all_that_is_left_or_all_that_is_taken() -> None:
    assert change("alone", "a", "b", "c", telling=frozenset({1})) == ["b"]
    assert change(SILENCED, "a", "b", "c", telling=frozenset({1})) == ["a", "c"]


def test_the_lines_of_others_are_no_sign_of_anything(kb: KnowledgeBase) -> None:
    assert kb.signatures_in("\n".join(NOISE)) == {}
