"""Questions in words, as users ask them; none of these stands in an entry."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from denpex_kb import KnowledgeBase
from tests.conftest import CENTRAL

QUESTIONS = Path(__file__).parent / "questions"


def read(name: str) -> list[tuple[str, list[str]]]:
    return [(item["q"], item["expect"]) for item in yaml.safe_load((QUESTIONS / name).read_text(encoding="utf-8"))]


def answered(kb: KnowledgeBase, question: str) -> str:
    diagnosis = kb.ask(question)
    return diagnosis.hypotheses[0].id if diagnosis.recognised else "NONE"


@pytest.mark.parametrize(("question", "expected"), read("central.yaml"))
def test_the_central_failure_is_found_in_every_clothing(kb: KnowledgeBase, question: str, expected: list[str]) -> None:
    assert answered(kb, question) in expected


@pytest.mark.parametrize(("question", "expected"), read("lookalikes.yaml"))
def test_a_lookalikes_question_does_not_land_on_the_central_entry(
    kb: KnowledgeBase, question: str, expected: list[str]
) -> None:
    assert answered(kb, question) != CENTRAL or CENTRAL in expected


@pytest.mark.parametrize(("name", "share"), [("lookalikes.yaml", 0.85), ("common.yaml", 0.88), ("foreign.yaml", 0.9)])
def test_most_questions_are_answered_right(kb: KnowledgeBase, name: str, share: float) -> None:
    questions = read(name)
    wrong = [question for question, expected in questions if answered(kb, question) not in expected]

    assert len(wrong) <= (1 - share) * len(questions), wrong


def test_the_questions_of_nearly_every_entry_find_it(kb: KnowledgeBase) -> None:
    """Terse, vague, misspelt: what an entry says people ask for leads to it, in a few seconds for all of them."""
    asked = [(entry.id, question) for entry in kb.entries() for question in kb.entry(entry.id).meta.questions]
    found = [[item.id for item in kb.ask(question).hypotheses] for _, question in asked]
    first = sum(ids[:1] == [entry] for (entry, _), ids in zip(asked, found, strict=True))
    near = sum(entry in ids[:3] for (entry, _), ids in zip(asked, found, strict=True))

    assert first >= 0.94 * len(asked), first / len(asked)
    assert near >= 0.97 * len(asked), near / len(asked)


@pytest.mark.parametrize(
    "text", ['"', "'", "a AND (b", "NEAR(x y)", "col:*", "-", "^", 'zero3 * hang " OR 1', "%_", "\x00"]
)
def test_the_query_language_of_the_text_search_means_nothing_in_a_question(kb: KnowledgeBase, text: str) -> None:
    assert kb.ask(text).input.kind == "question"


def test_a_question_never_reaches_the_confidence_of_a_log(kb: KnowledgeBase) -> None:
    assert kb.ask("hang first forward mixtral zero3").hypotheses[0].confidence < 0.9


def test_a_question_shows_alternatives_and_the_fact_that_decides(kb: KnowledgeBase) -> None:
    diagnosis = kb.ask("hang first forward mixtral zero3")

    assert len(diagnosis.hypotheses) > 1
    assert diagnosis.next_questions
    assert diagnosis.next_questions[0].how_to_find


def test_a_stated_fact_that_contradicts_rules_the_entry_out_and_says_so(kb: KnowledgeBase) -> None:
    diagnosis = kb.ask("qwen3 30b-a3b with zero stage 2 hangs in backward")

    assert CENTRAL not in [item.id for item in diagnosis.hypotheses]


def test_a_run_that_goes_on_is_no_hang(kb: KnowledgeBase) -> None:
    slow = (
        "mixtral zero3 w/ cpu offload on 8x a100 takes 40s per step but loss goes down, is that the leaf modules bug?"
    )

    assert answered(kb, slow) != CENTRAL


def test_a_misspelling_is_read_as_what_it_means_and_the_reader_is_told(kb: KnowledgeBase) -> None:
    assert "deepspeed" in kb.ask("deepspede zero3 mixtral hangs").interpreted


def test_a_pasted_traceback_is_diagnosed_as_a_log(kb: KnowledgeBase) -> None:
    pasted = 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n    main()\nKeyError: "x"\n'

    assert kb.ask(pasted).input.kind == "text"
