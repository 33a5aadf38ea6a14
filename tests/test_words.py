"""What a question says, held against the text of all entries: endings, parts of an entry, whole sentences, silence."""

from __future__ import annotations

import pytest

from denpex_kb import KnowledgeBase
from denpex_kb.index.concepts import stem
from denpex_kb.match.words import Likeness, hold_against, items_of, place, spoken_of


def held(kb: KnowledgeBase, question: str) -> Likeness:
    index = kb.index
    return hold_against(items_of(index.reader.read(question, known=index.terms), index), index)


@pytest.mark.parametrize(
    "words", [("hang", "hangs", "hanging"), ("save", "saved", "saves", "saving"), ("stop", "stopped", "stopping")]
)
def test_a_word_is_found_with_any_of_its_endings(words: tuple[str, ...]) -> None:
    assert len({stem(word) for word in words}) == 1


@pytest.mark.parametrize("word", ["gas", "0x17", "显存", "nccl", "bus"])
def test_short_words_numbers_and_other_scripts_are_left_as_they_are(word: str) -> None:
    assert stem(word) == word


def test_a_word_counts_by_the_best_part_that_holds_it() -> None:
    title, cause = 1 << 0, 1 << 7

    assert place(title) > place(cause) > 0
    assert place(title | cause) == place(title)
    assert place(0) == 0


def test_the_title_of_an_entry_asked_as_a_question_is_most_like_that_entry(kb: KnowledgeBase) -> None:
    index = kb.index
    wrong = []
    for number, entry_id in list(enumerate(index.sentences.entries))[::25]:
        likeness = held(kb, index.by_id[entry_id].title)
        if likeness.title[number] < max(likeness.title) - 1e-9:
            wrong.append(entry_id)
    assert not wrong


def test_likeness_lies_between_nothing_and_the_same_sentence(kb: KnowledgeBase) -> None:
    likeness = held(kb, "NCCL watchdog timeout in all_reduce after an hour, one rank slower")

    assert min(likeness.sentence) >= 0
    assert max(likeness.sentence) <= 1.02  # lengths are rounded
    assert max(likeness.covered) <= likeness.total + 1e-9


def test_only_pieces_that_an_entry_speaks_of_are_given_as_its_words(kb: KnowledgeBase) -> None:
    index = kb.index
    items = items_of(index.reader.read("zero3 mixtral hangs, zebra", known=index.terms), index)
    said = spoken_of(index.numbers["deepspeed-moe-zero3-leaf-modules"], items, index)

    assert {"mixtral", "hangs"} <= set(said)
    assert "zebra" not in said


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("NCCL timeout on 2 of 8 nodes", "nccl timeout"),
        ("gpu fell off the bus", "fell off the bus"),
        ("训练时通信超时", "通信超时"),
    ],
)
def test_the_words_of_an_answer_are_those_of_the_question(kb: KnowledgeBase, question: str, said: str) -> None:
    """A word that stands for its like in the index is nothing that anybody wrote; "on" tells nothing."""
    words = [item.text for found in kb.ask(question).hypotheses[:3] for item in found.evidence if item.what == "words"]

    assert said in words
    assert all(word in question.lower() for word in words)
    assert "on" not in words


def test_a_number_that_is_named_decides(kb: KnowledgeBase) -> None:
    found = kb.ask("Xid 79 in dmesg").hypotheses

    assert [item.id for item in found[:1]] == ["gpu-xid-79-fell-off-bus"]


def test_a_word_that_no_entry_holds_lowers_the_share_of_every_entry(kb: KnowledgeBase) -> None:
    plain, strange = held(kb, "nccl timeout"), held(kb, "nccl timeout zyxwv")

    assert strange.total > plain.total
    assert strange.covered == plain.covered


@pytest.mark.parametrize(
    "question",
    [
        "which learning rate is best for fine-tuning",
        "how to log metrics to a dashboard",
        "the run finished and the loss looks good",
        "nginx returns 502 behind the load balancer",
        "???",
        "的",
    ],
)
def test_who_asks_for_no_failure_gets_no_failure(kb: KnowledgeBase, question: str) -> None:
    assert kb.ask(question).verdict == "unknown"


@pytest.mark.parametrize(
    "question",
    ["accelerate launch only uses one of my GPUs", "accelerate launch starts one process although I have 4 GPUs"],
)
def test_a_failure_told_without_the_word_error_is_heard(kb: KnowledgeBase, question: str) -> None:
    found = kb.ask(question)

    assert "accelerate-launch-single-process" in [item.id for item in found.hypotheses[:2]]


def test_the_confidence_of_an_answer_falls_when_another_one_is_near(kb: KnowledgeBase) -> None:
    alone = kb.ask("mixtral hangs at the first step with deepspeed zero stage 3").hypotheses
    beside = kb.ask("mixtral hangs at the first step with deepspeed").hypotheses

    assert alone[0].id == beside[0].id
    assert alone[0].confidence > beside[0].confidence
    assert 0 < sum(item.confidence for item in alone) < 1.5
