"""What the user knows beside a log decides between what the log leaves open."""

from __future__ import annotations

from pathlib import Path

import pytest

from denpex_kb import KnowledgeBase

CENTRAL = "deepspeed-moe-zero3-leaf-modules"
PARENT = "deepspeed-zero3-conditional-module-skip"
LOG = """\
[2026-03-01 10:00:00,001] [INFO] [config.py:1000:print]   zero_optimization_stage ...... 3
step 1 loss 2.31
step 2 loss 2.29
Invalidate trace cache @ step 12: expected module 40, but got module 71
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "train.log"
    path.write_text(LOG)
    return path


def test_a_hang_that_the_model_decides_is_asked_about_the_model(kb: KnowledgeBase, log: Path) -> None:
    diagnosis = kb.diagnose(log, hung=True)

    assert diagnosis.hypotheses[0].id == PARENT
    asked = {question.fact: question.decides for question in diagnosis.next_questions}
    assert CENTRAL in asked["model.moe"]
    assert "progress" not in asked  # a job that hangs makes none


def test_what_the_user_says_of_the_model_makes_the_answer_exact(kb: KnowledgeBase, log: Path) -> None:
    diagnosis = kb.diagnose(log, hung=True, told="the model is mixtral")

    assert diagnosis.hypotheses[0].id == CENTRAL
    assert diagnosis.fix is not None
    assert any("MixtralSparseMoeBlock" in snippet.text for snippet in diagnosis.fix.snippets)


def test_a_hang_can_be_told_in_words(kb: KnowledgeBase, log: Path) -> None:
    assert kb.diagnose(log, told="qwen3 moe, it hangs") == kb.diagnose(log, hung=True, told="qwen3 moe, it hangs")
    assert kb.diagnose(log, told="qwen3 moe, it hangs").hypotheses[0].id == CENTRAL


def test_what_is_told_counts_for_a_stream_too(kb: KnowledgeBase) -> None:
    told = kb.diagnose_stream([LOG.encode()], hung=True, told="mixtral")

    assert told.hypotheses[0].id == CENTRAL


def test_what_is_told_can_rule_an_entry_out(kb: KnowledgeBase, log: Path) -> None:
    diagnosis = kb.diagnose(log, hung=True, told="a dense llama model")

    assert CENTRAL not in {item.id for item in diagnosis.hypotheses}
