"""`denpex checklist`: confidence that follows the answers, honest refutation, answers that are kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from denpex_kb import KnowledgeBase
from denpex_kb.advise.advice import fit_checklist
from denpex_kb.advise.checklist import State, answered, kind_of, stand
from denpex_kb.cli.checking import walk
from denpex_kb.model.diagnosis import Box
from denpex_kb.model.facts import Fact, FactSet
from denpex_kb.render.paper import Paper
from tests.conftest import CENTRAL, Ran

BOXES: tuple[Box, ...] = (
    Box("Reproduce from a clean start: `a`", "a"),
    Box("Stacks differ: `b`", "b"),
    Box("Sizes differ: `c`", "c"),
    Box("Control experiment that would refute it: `d`", "d"),
    Box("The fix removes the symptom within one validation pass."),
)


def after(*states: State) -> tuple[Box, ...]:
    boxes = BOXES
    for number, state in enumerate(states):
        boxes = answered(boxes, number, state)
    return boxes


def sheet() -> Paper:
    return Paper(100, colour=False)


def answers(*said: str) -> tuple[list[str], Callable[[str], str]]:
    prompts: list[str] = []
    left: Iterator[str] = iter(said)

    def ask(prompt: str) -> str:
        prompts.append(prompt)
        return next(left, "q")

    return prompts, ask


def test_the_boxes_are_told_apart() -> None:
    assert [kind_of(box) for box in BOXES] == ["reproduction", "signal", "signal", "control", "fix"]


def test_every_sign_moves_the_confidence_its_way() -> None:
    start = stand(BOXES).confidence

    assert stand(after("skipped", "seen")).confidence > start > stand(after("skipped", "not seen")).confidence
    assert stand(after("skipped", "skipped")).confidence == start


def test_all_signs_and_a_fix_that_works_confirm_it() -> None:
    found = stand(after("seen", "seen", "seen", "not seen", "seen"))

    assert found.standing == "confirmed"
    assert found.confidence >= 0.95


def test_the_control_experiment_refutes_whatever_was_seen_before() -> None:
    found = stand(after("seen", "seen", "seen", "seen"))

    assert found.standing == "refuted"
    assert found.confidence <= 0.05


def test_a_fix_that_does_not_help_speaks_against_it() -> None:
    assert stand(after("seen", "skipped", "skipped", "skipped", "not seen")).confidence < 0.3


def test_no_signs_at_all_make_it_doubtful_or_refuted() -> None:
    assert stand(after("not seen", "not seen", "not seen", "skipped", "not seen")).standing == "refuted"


def test_the_dialogue_asks_box_by_box_and_keeps_every_answer(kb: KnowledgeBase) -> None:
    kept: list[Sequence[Box]] = []
    prompts, ask = answers("s", "what?", "n", "k", "q")
    now = walk(kb.entry(CENTRAL), BOXES, ask, sheet, kept.append)

    assert [box.state for box in now] == ["seen", "not seen", "skipped", "open", "open"]
    assert len(kept) == 3
    assert len(prompts) == 5


def test_one_can_go_back(kb: KnowledgeBase) -> None:
    _, ask = answers("s", "b", "n", "q")
    now = walk(kb.entry(CENTRAL), BOXES, ask, sheet, lambda _: None)

    assert now[0].state == "not seen"


def test_a_refuted_hypothesis_ends_the_dialogue_and_names_look_alikes(
    kb: KnowledgeBase, capsys: pytest.CaptureFixture[str]
) -> None:
    _, ask = answers("k", "k", "k", "s", "s")
    now = walk(kb.entry(CENTRAL), BOXES, ask, sheet, lambda _: None)

    assert [box.state for box in now][3:] == ["seen", "open"]
    assert "deepspeed-zero3-conditional-module-skip" in capsys.readouterr().out


def test_answers_are_kept_and_resumed(run: Callable[..., Ran], tmp_path: Path, kb: KnowledgeBase) -> None:
    from denpex_kb.cli.checking import _keep

    state = tmp_path / "state.json"
    boxes = fit_checklist(kb.entry(CENTRAL), FactSet(), kb.index.kb)
    _keep(state, CENTRAL, answered(answered(boxes, 0, "seen"), 1, "not seen"))
    data = json.loads(run("checklist", CENTRAL, "--state", str(state), "-f", "json").out)

    assert [box["state"] for box in data["checklist"]][:3] == ["seen", "not seen", "open"]
    assert "[x] Reproduce" in run("checklist", CENTRAL, "--state", str(state), "-f", "markdown").out
    assert "[-] 2." in run("checklist", CENTRAL, "--state", str(state)).out


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "no answers of a checklist"),
        ('{"schema": "x"}', "no answers of a checklist"),
        ('{"schema": "denpex.checklist-state/1", "id": "other", "answers": {}}', "holds the answers of other"),
    ],
)
def test_a_file_of_something_else_is_refused(run: Callable[..., Ran], tmp_path: Path, content: str, says: str) -> None:
    state = tmp_path / "state.json"
    state.write_text(content)
    ran = run("checklist", CENTRAL, "--state", str(state))

    assert ran.status == 2
    assert says in ran.err
    assert state.read_text() == content


def test_piped_it_prints_the_boxes_and_asks_nothing(run: Callable[..., Ran]) -> None:
    ran = run("checklist", CENTRAL)

    assert ran.status == 0
    assert "[ ] 1. Reproduce" in ran.out
    assert "?" not in ran.out.splitlines()[-1]


def test_known_names_are_filled_in(kb: KnowledgeBase) -> None:
    facts = FactSet([Fact("model.moe_block", "MixtralSparseMoeBlock", "answer")])
    boxes = fit_checklist(kb.entry(CENTRAL), facts, kb.index.kb)

    assert any(box.command and "MixtralSparseMoeBlock" in box.command for box in boxes)
