"""The strip of ranks in the terminal answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from denpex_kb.model.diagnosis import Diagnosis, InputInfo, RankState, State
from denpex_kb.render.paper import Paper
from denpex_kb.render.strip import binned, write_strip
from tests.conftest import Ran
from tests.picture.jobs import oom_job, written


def states(*runs: tuple[int, State]) -> list[RankState]:
    held: list[RankState] = []
    for length, state in runs:
        held += [RankState(len(held) + number, state) for number in range(length)]
    return held


def strip(ranks: Sequence[RankState], width: int = 100, *, colour: bool = False) -> list[str]:
    sheet = Paper(width, colour=colour)
    write_strip(Diagnosis(verdict="matched", input=InputInfo("log", world_size=len(ranks)), ranks=tuple(ranks)), sheet)
    return sheet.text().splitlines()


def test_each_of_few_ranks_has_its_sign_and_the_legend_stands_beside_them() -> None:
    (line,) = strip(states((5, "torn-down"), (1, "initiating"), (2, "silent")))

    assert line == "RANKS      0     -----X!!   X began it (rank 5)  ! silent (ranks 6-7)  - told to stop (5)"


@pytest.mark.parametrize("width", [40, 60, 80, 100])
@pytest.mark.parametrize("ranks", [2, 8, 64, 512, 4096, 100_000])
def test_it_stays_within_the_width_and_within_few_lines(width: int, ranks: int) -> None:
    lines = strip(states((ranks // 2, "collateral"), (1, "initiating"), (ranks - ranks // 2 - 1, "torn-down")), width)

    assert max(map(len, lines)) <= width
    assert len(lines) <= 8
    assert sum(line.count("X") for line in lines) >= 2  # the sign and its legend


def test_the_one_that_began_it_shows_among_many_that_share_its_sign() -> None:
    found = binned(states((1000, "torn-down"), (1, "initiating"), (3095, "torn-down")), 4096, 128)

    assert found.per == 32
    assert found.states.count("initiating") == 1


def test_it_needs_no_colour_and_no_unicode() -> None:
    assert all(line.isascii() for line in strip(states((3, "collateral"), (1, "initiating"))))
    assert "\x1b[" in "".join(strip(states((3, "collateral"), (1, "initiating")), colour=True))


def test_a_rank_that_only_printed_steps_is_shown_as_at_work() -> None:
    ranks = [RankState(0, "initiating"), RankState(1, "unknown", None, "30")]

    assert "Xo" in strip(ranks)[0]


def test_nothing_is_drawn_of_one_rank_or_where_nothing_is_known() -> None:
    assert strip(states((1, "initiating"))) == [""]
    assert strip(states((8, "unknown"))) == [""]


def test_the_answer_with_a_strip_fits_one_screen(run: Callable[..., Ran], tmp_path: Path) -> None:
    lines = run("diagnose", str(written(tmp_path, oom_job(512, 77))), columns=100).out.splitlines()

    assert any(line.startswith("RANKS") for line in lines)
    assert len(lines) <= 45
