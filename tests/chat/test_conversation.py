"""What is said in a conversation, what it leads to, and how it is taken back."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from denpex_kb import KnowledgeBase
from denpex_kb.chat.conversation import Conversation
from denpex_kb.model.conditions import spell
from tests.conftest import CENTRAL, ROOT

OPENING = "mixtral hangs at the first step, deepspeed"
OOM = (
    "Traceback (most recent call last):\n"
    '  File "train.py", line 3, in <module>\n'
    "    loss.backward()\n"
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of 79.10 GiB\n"
)
PORT = (
    "[W socket.cpp:426] [c10d] The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use)."
)


@pytest.fixture
def talk(kb: KnowledgeBase) -> Conversation:
    return Conversation(kb.index)


def values(talk: Conversation, fact: str) -> list[str]:
    return [spell(value) for value in talk.case.facts.values(fact)]


def best(talk: Conversation) -> str:
    return talk.case.diagnosis.hypotheses[0].id if talk.case.diagnosis.recognised else talk.case.diagnosis.verdict


# --- questions and answers


def test_hypotheses_that_lie_close_are_told_apart_by_a_question_of_fact(talk: Conversation) -> None:
    talk.say(OPENING)

    assert talk.question is not None
    assert talk.question.fact == "zero.stage"
    assert {choice.key for choice in talk.question.choices} >= {"2", "3"}


@pytest.mark.parametrize("answer", ["3", "[3]", "stage 3", "it is stage 3", "zero3", "zero.stage = 3", "no, it's 3"])
def test_an_answer_is_understood_by_its_key_and_in_words(talk: Conversation, answer: str) -> None:
    talk.say(OPENING)
    talk.say(answer)

    assert values(talk, "zero.stage") == ["3"]
    assert best(talk) == CENTRAL
    assert talk.sure
    assert talk.question is None


def test_a_correction_replaces_what_was_said_before(talk: Conversation) -> None:
    talk.say(OPENING)
    talk.say("3")
    talk.say("it is stage 2")

    assert values(talk, "zero.stage") == ["2"]
    assert best(talk) == "deepspeed-zero2-moe-unused-experts"


def test_a_correction_in_words_takes_back_what_followed_from_them(talk: Conversation) -> None:
    talk.say("Mixtral zero3 hangs")
    assert values(talk, "model.moe") == ["true"]

    talk.say("sorry, it is Llama")

    assert values(talk, "model.family") == ["llama"]
    assert values(talk, "model.moe") == ["false"]
    assert best(talk) != CENTRAL


def test_two_versions_in_one_message_are_both_kept(talk: Conversation) -> None:
    talk.say("fine on transformers 4.52.4, hangs from 4.53 on, qwen3 moe zero3")

    assert len(values(talk, "transformers.version")) == 2


def test_undo_takes_back_the_last_thing_told_and_asks_again(talk: Conversation) -> None:
    talk.say(OPENING)
    before, question = talk.case.diagnosis, talk.question
    talk.say("3")

    said = talk.say("undo")

    assert talk.case.diagnosis == before
    assert talk.question == question
    assert said.note == "Taken back: 3"
    assert said.learnt == ("no longer zero.stage = 3",)


def test_undo_of_everything_leaves_nothing_and_says_so(talk: Conversation) -> None:
    talk.say(OPENING)
    talk.say("undo")

    assert not talk.told
    assert not len(talk.case.facts)
    assert talk.say("undo").trouble


def test_not_knowing_shows_how_to_find_out_and_goes_on_to_another_question(talk: Conversation) -> None:
    talk.say(OPENING)
    asked = talk.question

    reply = talk.say("don't know")

    assert asked is not None
    assert reply.find == asked.find
    assert talk.question is not None
    assert talk.question.key != asked.key
    assert "zero.stage" not in talk.case.facts


def test_a_line_that_is_seen_decides_and_one_that_is_not_counts_against(talk: Conversation) -> None:
    talk.say("training crashes with cuda error, deepspeed")
    assert talk.question is not None
    assert talk.question.kind == "paste"  # so little was told that the log says more than any answer
    while talk.question is not None and talk.question.kind != "lines":
        talk.say("d")
    assert talk.question is not None
    first = talk.question.choices[0]
    asked = [ids[0] for _, ids in talk.question.why]
    entry = asked[0]
    before = sum(map(talk.case.view.belief.of, asked))

    talk.say("none of these")
    assert sum(map(talk.case.view.belief.of, asked)) < before

    talk.say("undo")
    talk.say(first.key)
    assert best(talk) == entry


def test_the_question_asked_has_the_largest_expected_gain(kb: KnowledgeBase) -> None:
    from denpex_kb.chat.asking import _facts, _lines, next_question
    from denpex_kb.chat.case import CaseReader
    from denpex_kb.chat.contrast import contrasts
    from denpex_kb.chat.told import Words

    reader = CaseReader(kb.index)
    told = [Words("training hangs, nccl timeout")]
    case = reader.read(told)
    asked = next_question(case, told, reader)

    assert asked is not None
    others = [
        *_facts(case, frozenset(), reader, 0.25),
        *_lines(case, frozenset(), reader, 0.15, {}),
        *contrasts(case.view.belief, frozenset(), reader.index, 0.25),
    ]
    assert len(others) > 5
    assert asked.gain == max(question.gain for question in others)


def test_what_is_ruled_out_and_why_is_told(talk: Conversation) -> None:
    talk.say(OPENING)
    talk.say("3")

    reply = talk.say("why not zero2")

    assert reply.kind == "why-not"
    assert reply.entry is not None
    assert reply.entry.id == "deepspeed-zero2-moe-unused-experts"


def test_forgetting_takes_back_one_answer_and_keeps_the_rest(talk: Conversation) -> None:
    talk.say(OPENING)
    talk.say("3")
    talk.say("deepspeed.version = 0.16.9")

    talk.say("forget zero.stage")

    assert "zero.stage" not in talk.case.facts
    assert values(talk, "deepspeed.version") == ["0.16.9"]


@pytest.mark.parametrize("text", ["blorp fnord", "%$&", "..."])
def test_what_the_catalog_does_not_know_is_not_taken(talk: Conversation, text: str) -> None:
    assert talk.say(text).trouble
    assert not talk.told


def test_a_value_that_a_fact_cannot_have_is_refused_with_the_ones_it_can(talk: Conversation) -> None:
    reply = talk.say("precision = fp7")

    assert reply.trouble
    assert "bf16" in reply.note
    assert not talk.told


# --- logs


def test_several_pastes_add_up(talk: Conversation) -> None:
    talk.say(OOM, pasted=True)
    one = talk.case.diagnosis
    talk.say(PORT + "\n" + PORT, pasted=True)

    assert one.input.files == 1
    assert talk.case.diagnosis.input.files == 2
    assert talk.case.diagnosis.input.lines == one.input.lines + 2


def test_words_after_a_log_are_taken_into_account(talk: Conversation) -> None:
    talk.say(OOM, pasted=True)
    talk.say("zero.stage = 3")

    assert values(talk, "zero.stage") == ["3"]
    assert talk.case.diagnosis.facts["zero.stage"][0].from_ == "your answer"


def test_a_config_that_is_pasted_states_facts(talk: Conversation) -> None:
    talk.say('{"zero_optimization": {"stage": 2},\n"train_batch_size": 8}\n', pasted=True)

    assert values(talk, "zero.stage") == ["2"]


@pytest.mark.parametrize("shape", ["{}", "'{}'", '"{}"', "file://{}", "  {}  "])
def test_a_path_is_read_as_it_is_typed_quoted_or_dragged(talk: Conversation, tmp_path: Path, shape: str) -> None:
    log = tmp_path / "rank0.log"
    log.write_text(OOM)

    talk.say(shape.format(log))

    assert best(talk).startswith("cuda-oom")


def test_a_dragged_path_may_hold_blanks(talk: Conversation, tmp_path: Path) -> None:
    log = tmp_path / "my run" / "rank 0.log"
    log.parent.mkdir()
    log.write_text(OOM)

    talk.say("file://" + str(log).replace(" ", "%20"))
    talk.say("undo")
    talk.say(str(log).replace(" ", "\\ "))

    assert best(talk).startswith("cuda-oom")


def test_a_path_that_is_not_there_is_named_and_nothing_is_taken(talk: Conversation) -> None:
    reply = talk.say("/nowhere/rank0.log")

    assert reply.trouble
    assert "/nowhere/rank0.log" in reply.note
    assert not talk.told


def test_a_traceback_that_breaks_off_is_never_a_sure_answer(talk: Conversation) -> None:
    lines = OOM.splitlines()
    talk.say("\n".join([*lines[:-1], *lines[:-1]]), pasted=True)

    assert talk.case.cut
    assert not talk.sure


@pytest.mark.parametrize("pasted", [True, False], ids=["pasted", "typed"])
def test_the_end_of_a_traceback_is_taken_when_something_else_was_asked(talk: Conversation, pasted: bool) -> None:
    *frames, end = OOM.splitlines()
    talk.say("\n".join([*frames, *frames]), pasted=True)
    talk.say("d")
    assert talk.question is not None
    assert talk.question.kind != "paste"

    talk.say(f"{end}\n" + "If reserved memory is large try something else" if pasted else end, pasted=pasted)

    assert not talk.case.cut
    assert best(talk).startswith("cuda-oom")


@pytest.mark.parametrize("text", ["keine Ahnung", "не знаю", "不知道", "no idea", "I don't know."])
def test_not_knowing_is_understood_in_several_languages(talk: Conversation, text: str) -> None:
    talk.say("training hangs")
    asked = talk.question

    reply = talk.say(text)

    assert reply.find
    assert talk.question != asked


def test_who_knows_nothing_is_asked_for_the_deciding_part_once_more_and_then_left_alone(talk: Conversation) -> None:
    lines = OOM.splitlines()
    talk.say("\n".join([*lines[:-1], *lines[:-1]]), pasted=True)

    kinds: list[str] = []
    while talk.question is not None and len(kinds) < 20:
        kinds.append(talk.question.kind)
        talk.say("I don't know")

    assert kinds.count("paste") == 2
    assert kinds[0] == kinds[-1] == "paste"
    assert not talk.sure


def test_who_tells_words_only_is_asked_for_the_log_when_words_tell_no_more(talk: Conversation) -> None:
    talk.say("training hangs, nccl timeout")
    while talk.question is not None and talk.question.kind != "paste":
        talk.say("d")
    assert talk.question is not None
    assert "log" in talk.question.text

    talk.say(OOM, pasted=True)

    assert talk.case.has_log
    assert best(talk).startswith("cuda-oom")


def test_a_line_that_look_alikes_print_as_well_is_cross_checked_before_it_counts(kb: KnowledgeBase) -> None:
    from denpex_kb.chat.asking import _signs, cross_check
    from denpex_kb.chat.case import CaseReader
    from denpex_kb.chat.told import Signs, Told, Words

    reader = CaseReader(kb.index)
    words = Words("one card vanished after some hours")
    sign = next(_signs("cuda-launch-failure", reader.read([words]), frozenset(), reader))[0]
    told: list[Told] = [words, Signs((sign,), (sign,))]
    case = reader.read(told)
    assert case.diagnosis.hypotheses[0].id == "cuda-launch-failure"

    asked = cross_check(case, told, reader)

    assert asked is not None
    own = next(choice for choice in asked.choices if ": 79," in choice.label)
    told.append(asked.answered([own]))
    after = reader.read(told)
    assert "gpu-xid-79-fell-off-bus" in {item.id for item in after.diagnosis.hypotheses[:2]}
    assert after.view.belief.of("cuda-launch-failure") < 0.8
    assert cross_check(after, told, reader) is None


def test_a_sign_that_was_chosen_is_cited_and_one_that_was_passed_over_not_shown_again(talk: Conversation) -> None:
    talk.say("deepspeed moe hangs")
    assert talk.question is not None
    assert talk.question.kind == "signs"
    shown = {choice.value for choice in talk.question.choices}
    chosen = talk.question.choices[1]
    talk.say(chosen.key)

    cited = [item.text for item in talk.case.diagnosis.hypotheses[0].evidence]
    assert chosen.label in cited
    assert talk.case.diagnosis.hypotheses[0].confidence <= 0.9  # no line of a log proves it
    assert not talk.case.diagnosis.because

    talk.say("undo")
    talk.say("d")
    while talk.question is not None:
        if talk.question.kind == "signs":
            assert not shown & {choice.value for choice in talk.question.choices}
        talk.say("d")


def test_a_digit_is_never_taken_for_a_file(talk: Conversation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "3").write_text(OOM)
    monkeypatch.chdir(tmp_path)

    assert talk.say("3").trouble
    assert not talk.told


def test_vague_words_are_asked_about_before_they_are_an_answer(talk: Conversation) -> None:
    talk.say("my training just sits there, nothing printed, 8 gpus, 2 nodes")

    assert not talk.sure
    assert talk.question is not None


def test_answers_that_speak_for_two_failures_alike_leave_both_open(talk: Conversation) -> None:
    log = ROOT / "tests" / "corpus" / "dev" / "inputs" / "fsdp1-head-called-outside.log"
    talk.say(str(log))
    assert talk.case.diagnosis.verdict == "ambiguous"

    talk.say("phase = forward")

    first, second = talk.case.diagnosis.hypotheses[:2]
    assert first.confidence == second.confidence
    assert talk.case.diagnosis.verdict == "ambiguous"
    assert not talk.sure


def test_a_line_that_the_user_confirms_completes_what_the_log_lacks(talk: Conversation) -> None:
    sample = next((ROOT / "catalog").glob("*/hf-labels-wrong-shape-for-task/positive-*.log"))
    lines = sample.read_text().splitlines()
    talk.say("\n".join(line for line in lines if "Error" not in line), pasted=True)
    assert not talk.case.diagnosis.recognised

    for _ in range(6):
        if talk.question is None or talk.case.diagnosis.recognised:
            break
        wanted = [
            choice.key
            for choice in talk.question.choices
            if getattr(choice.value, "entry", "") == "hf-labels-wrong-shape-for-task"
        ]
        talk.say(wanted[0] if wanted else "d")

    assert best(talk) == "hf-labels-wrong-shape-for-task"
    assert talk.case.diagnosis.hypotheses[0].evidence[0].file == "your answer"


def test_an_answer_out_of_a_conversation_equals_that_of_ask(kb: KnowledgeBase, talk: Conversation) -> None:
    question = "hang first forward mixtral zero3"
    talk.say(question)

    assert talk.case.diagnosis == kb.ask(question)


def test_an_answer_to_files_equals_that_of_diagnose(kb: KnowledgeBase, talk: Conversation) -> None:
    path = ROOT / "tests" / "corpus" / "dev" / "inputs" / "multinode-rank3-error-node1"
    talk.say(str(path))

    assert talk.case.diagnosis.hypotheses == kb.diagnose(path).hypotheses
    assert talk.case.diagnosis.initiating == kb.diagnose(path).initiating


# --- hostile input


@pytest.mark.parametrize(
    "text",
    [
        "\x1b]0;owned\x07\x1b[2J hang zero3",
        "\x00\x01\x02",
        "a" * 300_000,
        "(" * 5_000,
        "file://" + "%00" * 50,
        "file://[",
        "'unclosed quote hang",
        "~nobody-of-that-name/x",
        "why not " + "x" * 3000,
        "show ../../etc/passwd",
        "[pasted #7: 3 lines]",
        "zero.stage = " + "9" * 5000,
        "\u202e\u200b hang",
        "\ud800 hang",
    ],
)
def test_nothing_that_is_typed_makes_it_fail(talk: Conversation, text: str) -> None:
    from denpex_kb.chat.speech import speak
    from denpex_kb.render.paper import Paper

    for pasted in (False, True):
        shown = speak(talk.say(text, pasted=pasted), talk, Paper(80, colour=False))

        assert "\x1b" not in shown
        assert "\u202e" not in shown


def test_a_paste_of_two_hundred_thousand_lines_takes_seconds(talk: Conversation) -> None:
    text = "".join(f"[rank{number % 8}]: \x1b[31mstep {number}\x1b[0m loss 2.1\n" for number in range(200_000)) + OOM
    started = time.process_time()

    talk.say(text, pasted=True)

    assert time.process_time() - started < 30  # the scan itself takes about three; machines differ
    assert talk.case.diagnosis.input.lines == 200_004
    assert best(talk).startswith("cuda-oom")


def test_secrets_are_not_repeated(talk: Conversation) -> None:
    from denpex_kb.chat.record import conversation_markdown

    talk.say("mixtral zero3 hangs with HF_TOKEN=hf_abcdefGHIJKL0123456789mnopQR")

    assert "hf_abcdef" not in conversation_markdown(talk)
