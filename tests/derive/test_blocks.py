"""Which lines belong together: tracebacks without a head, chains, quoted tracebacks."""

from __future__ import annotations

import pytest

from tests.derive.scenes import attempts_of, raised, tell

FRAME = '  File "/srv/app/train.py", line 12, in main'
HEAD = "Traceback (most recent call last):"
DURING = "During handling of the above exception, another exception occurred:"
CAUSE = "The above exception was the direct cause of the following exception:"
TASK = "ray.exceptions.RayTaskError(KeyError): ray::RayTrainWorker.run() (pid=854, ip=10.0.0.7)"


def blocks(*lines: str) -> list[int]:
    """Return the blocks of all lines that a mark names, numbered anew in the order in which they occur."""
    order: dict[int, int] = {-1: -1}
    for seen in tell(*lines).seen:
        order.setdefault(seen.block, len(order) - 1)
    return [order[seen.block] for seen in tell(*lines).seen]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param([HEAD, FRAME, "KeyError: 'x'"], [0, 0, 0], id="a traceback"),
        pytest.param([FRAME, FRAME, "KeyError: 'x'"], [0, 0, 0], id="the head is cut off"),
        pytest.param(["KeyError: 'x'"], [-1], id="the last line alone"),
        pytest.param(
            [FRAME, "KeyError: 'x'", HEAD, FRAME, "ValueError: y"], [0, 0, 1, 1, 1], id="a whole one behind the rest"
        ),
        pytest.param(
            [HEAD, FRAME, "KeyError: 'x'", FRAME, "ValueError: y"], [0, 0, 0, 1, 1], id="a second one without head"
        ),
        pytest.param(
            [HEAD, FRAME, "KeyError: 'x'", "", DURING, "", HEAD, FRAME, "ValueError: y"], [0] * 7, id="during handling"
        ),
        pytest.param([HEAD, FRAME, "KeyError: 'x'", CAUSE, HEAD, FRAME, "ValueError: y"], [0] * 7, id="direct cause"),
        pytest.param([DURING, HEAD, FRAME, "ValueError: y"], [0] * 4, id="the first part is cut off"),
        pytest.param(
            [HEAD, FRAME, "KeyError: 'x'", DURING, HEAD, FRAME, "ValueError: y", HEAD, FRAME, "OSError: z"],
            [0] * 7 + [1] * 3,
            id="a chain ends",
        ),
        pytest.param([HEAD, FRAME, TASK, FRAME, "KeyError: 'x'"], [0] * 5, id="a quoted traceback"),
        pytest.param([TASK, FRAME, "KeyError: 'x'"], [0] * 3, id="a quoted traceback, its head cut off"),
        pytest.param(
            [HEAD, FRAME, "KeyError: 'x'", TASK, FRAME, "ValueError: y"],
            [0] * 3 + [1] * 3,
            id="what is quoted is not part of what has ended",
        ),
        pytest.param(
            [f"[rank0]: {FRAME}", f"[rank1]: {FRAME}", "[rank0]: KeyError: 'x'", "[rank1]: ValueError: y"],
            [0, 1, 0, 1],
            id="ranks interleaved",
        ),
        pytest.param(
            [
                f"[rank0]: {HEAD}",
                f"[rank1]: {HEAD}",
                "[rank0]: KeyError: 'x'",
                f"[rank0]: {DURING}",
                "[rank1]: OSError: z",
                f"[rank0]: {HEAD}",
                "[rank0]: ValueError: y",
            ],
            [0, 1, 0, 0, 1, 0, 0],
            id="a chain of one rank among others",
        ),
        pytest.param(
            ["Thread 0x00007f5c2b7fe640 (most recent call first):", '  File "/srv/app/train.py", line 12 in main'],
            [0],
            id="frames of a dump are none of a traceback",
        ),
    ],
)
def test_lines_of_one_traceback_are_one_block(lines: list[str], expected: list[int]) -> None:
    assert blocks(*lines) == expected


def test_blocks_of_two_files_differ() -> None:
    (told,) = attempts_of(rank0_log=f"{FRAME}\nKeyError: 'x'\n", rank1_log=f"{FRAME}\nKeyError: 'x'\n")

    assert len({seen.block for seen in told.seen}) == 2


def test_the_exception_that_is_quoted_is_the_failure_rather_than_the_line_that_quotes_it() -> None:
    told = tell(HEAD, FRAME, TASK, FRAME, "KeyError: 'x'")

    assert told.began.event is not None
    assert told.began.event.line.text == "KeyError: 'x'"


def test_a_traceback_with_its_head_is_what_it_was() -> None:
    assert blocks(raised("KeyError: 'x'")) == [0, 0, 0]
