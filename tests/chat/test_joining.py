"""A pasted part of a log is read where it belongs, and one that belongs nowhere is read beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from denpex_kb.chat.joining import MARK, join
from denpex_kb.chat.told import Paste, Quoted
from denpex_kb.errors import InputError

CUT = """\
step 1 loss 2.1
[rank1]: Traceback (most recent call last):
[rank1]:   File "train.py", line 3, in <module>
[rank1]:     main()
[rank0]: step 2 loss 2.0
"""
WHOLE = CUT.replace("[rank1]:     main()\n", "[rank1]:     main()\n[rank1]: ValueError: no such split\n")


def test_the_missing_end_of_a_traceback_goes_behind_its_frames() -> None:
    part = Quoted("ValueError: no such split", "paste traceback", "train.log", 2)

    joined = join([part], {"train.log": CUT}, [])

    assert joined.texts == {"train.log" + MARK: WHOLE}
    assert joined.placed == (part,)


def test_lines_that_both_have_are_not_doubled(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text(CUT)
    part = Paste("pasted text", "\n".join(WHOLE.split("\n")[1:]), "paste traceback", str(log), 2)

    joined = join([part], {"pasted text": part.text}, [log])

    assert joined.texts == {str(log) + MARK: WHOLE}
    assert joined.instead == {str(log)}


def test_a_second_part_goes_into_the_text_that_the_first_one_made() -> None:
    first = Quoted("ValueError: no such split", "paste traceback", "train.log", 2)
    second = Paste("pasted text", "\n".join([*WHOLE.split("\n"), "[rank0]: bye"]), "paste more", "train.log" + MARK, 1)

    joined = join([first, second], {"train.log": CUT, "pasted text": second.text}, [])

    assert list(joined.texts) == ["train.log" + MARK]
    assert joined.texts["train.log" + MARK].split("\n").count("[rank1]: ValueError: no such split") == 1
    assert "[rank0]: bye" in joined.texts["train.log" + MARK]


def test_the_end_of_a_traceback_may_have_several_lines_and_none_in_common() -> None:
    error, more = "RuntimeError: Error(s) in loading state_dict for Net:", "\tsize mismatch for a"
    end = f"{error}\n{more}"
    part = Paste("pasted text", end, "paste traceback", "train.log", 2)

    joined = join([part], {"train.log": CUT, "pasted text": end}, [])

    lines = joined.texts["train.log" + MARK].split("\n")
    assert lines[3:6] == ["[rank1]:     main()", f"[rank1]: {error}", f"[rank1]: {more}"]


@pytest.mark.parametrize(
    "part",
    [
        Paste("pasted text", "nothing\nof this\nstands there", "paste traceback", "train.log", 2),
        Paste("pasted text", "x\n" * 5000, "paste traceback", "train.log", 2),
        Paste("pasted text", WHOLE, "paste traceback", "another.log", 2),
        Paste("pasted text", WHOLE, "paste traceback", "train.log", 99),
        Paste("pasted text", WHOLE),
    ],
    ids=["no line in common", "too long", "another file", "no such line", "not asked for"],
)
def test_what_belongs_nowhere_is_read_beside_the_log(part: Paste) -> None:
    texts = {"train.log": CUT, "pasted text": part.text}

    joined = join([part], texts, [])

    assert joined.texts == texts
    assert joined.placed == ()


def test_a_file_that_is_gone_is_reported(tmp_path: Path) -> None:
    part = Quoted("ValueError: no such split", "paste traceback", "train.log", 2)

    with pytest.raises(InputError, match=r"train\.log"):
        join([part], {}, [tmp_path / "train.log"])
