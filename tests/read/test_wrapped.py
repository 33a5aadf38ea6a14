"""Messages that were broken at a width: they match as the whole ones do, at their first line."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from denpex_kb import KnowledgeBase
from denpex_kb.read.wrapped import MOST_LINES, MOST_TEXT, joined, wrapped_parts

HEAD = 'Traceback (most recent call last):\n  File "/train/train.py", line 12, in <module>\n    trainer.train()\n'
MESSAGE = (
    "ValueError: The model did not return a loss from the inputs, only the following keys: logits. "
    "For reference, the inputs it received are input_ids,attention_mask."
)
ENTRY = "hf-no-loss-returned"


def cut(text: str, width: int) -> str:
    return "\n".join(text[at : at + width] for at in range(0, len(text), width))


@pytest.mark.parametrize(
    "message",
    [
        MESSAGE,
        textwrap.fill(MESSAGE, 72),
        textwrap.fill(MESSAGE, 80),
        textwrap.fill(MESSAGE, 60),
        cut(MESSAGE, 64),
    ],
    ids=["whole", "72", "80", "60", "cut at 64"],
)
@pytest.mark.parametrize("prefix", ["", "[rank3]: "])
def test_a_wrapped_message_matches_at_its_first_line(
    kb: KnowledgeBase, message: str, prefix: str, tmp_path: Path
) -> None:
    path = tmp_path / "train.log"
    path.write_text("".join(f"{prefix}{line}\n" for line in (HEAD + message).splitlines()))

    diagnosis = kb.diagnose(path)

    first = diagnosis.hypotheses[0]
    assert first.id == ENTRY
    assert first.evidence[0].line == 4
    assert first.evidence[0].text == message.splitlines()[0]


LONG = "ValueError: a message that reaches the width of the terminal"


@pytest.mark.parametrize(
    ("below", "continues"),
    [
        ("and goes on here", True),
        ("[{'a.weight'}] that go on", True),
        ("", False),
        ("    indented code", False),
        ("2026-03-11 09:14:21 INFO a log line", False),
        ("[2026-03-11 09:14:21] a log line", False),
        ("[rank1]: another rank", False),
        ("[INFO] a log line", False),
        ("INFO a log line", False),
        ("KeyError: another one", False),
        ("Traceback (most recent call last):", False),
        ("The above exception was the direct cause of the following exception:", False),
        ("============================================", False),
        ("W0311 09:14:21.000000 42 torch/x.py:1] text", False),
    ],
)
def test_a_message_ends_where_another_kind_of_line_begins(below: str, continues: bool) -> None:
    assert wrapped_parts(LONG, [below]) == ((LONG, below) if continues else (LONG,))


def test_a_line_that_ends_early_was_ended_by_its_writer() -> None:
    assert wrapped_parts("KeyError: 'x'", ["more"]) == ("KeyError: 'x'",)
    assert wrapped_parts(LONG, ["short", "not of it"]) == (LONG, "short")
    assert wrapped_parts("requests.exceptions.ConnectionError:", ["one"]) == (
        "requests.exceptions.ConnectionError:",
        "one",
    )


def test_what_is_joined_is_bounded() -> None:
    assert len(wrapped_parts(LONG, [LONG[12:]] * 50)) == MOST_LINES + 1
    assert sum(map(len, wrapped_parts(LONG, ["x" * 600] * 50))) <= MOST_TEXT


def test_lines_are_joined_by_a_space_or_where_a_terminal_cut_them_by_none() -> None:
    assert [text for text, _ in joined(("one site-", "packages two"))] == ["one site-packages two"] * 2
    assert [text for text, _ in joined(("ab", "cd", "e"))] == ["ab cd e", "abcde"]
    assert [text for text, _ in joined(("abc", "de", "fgh"))] == ["abc de fgh"]
    assert [text for text, _ in joined(("a", "bcd", "ef", "g"))] == ["a bcd ef g"]


def test_the_first_line_may_have_lost_a_prefix_that_the_others_do_not_have() -> None:
    assert [text for text, _ in joined(("ab", "cde", "f"))] == ["ab cde f", "abcdef"]


@pytest.mark.parametrize("below", ["3: ", ""], ids=["the launcher's prefix", "no prefix"])
def test_a_line_cut_by_a_collector_goes_on_without_its_inner_prefix(
    kb: KnowledgeBase, below: str, tmp_path: Path
) -> None:
    """What srun labels, or a terminal shows, is cut at its width; the rest has no `[rank3]:` any more."""
    message = "[rank3]:[E ProcessGroupNCCL.cpp:1414] [PG 0 Rank 3] Process group watchdog thread terminated with "
    message += "exception: CUDA error: unspecified launch failure"
    first, *others = cut(message, 100).split("\n")
    path = tmp_path / "job.log"
    path.write_text("\n".join((f"3: {first}", *(f"{below}{other}" for other in others), "")))

    assert kb.diagnose(path).hypotheses[0].id == "cuda-launch-failure"


def test_lines_that_only_stand_together_do_not_match_alone(kb: KnowledgeBase, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(HEAD + MESSAGE[:70] + "\n[rank2]: " + MESSAGE[70:] + "\n")

    assert ENTRY not in [item.id for item in kb.diagnose(path).hypotheses]
