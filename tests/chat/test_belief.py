"""Probabilities and what an answer tells."""

from __future__ import annotations

import math

import pytest

from denpex_kb.chat.belief import NONE, entropy, expected_gain, normalised, shift_of


def test_shares_add_up_to_one() -> None:
    belief = normalised({"a": 3.0, "b": 1.0, NONE: 4.0})

    assert belief.of("a") == pytest.approx(0.375)
    assert sum(belief.shares.values()) == pytest.approx(1.0)
    assert belief.best(5) == ["a", "b"]


def test_four_equal_shares_are_two_bits() -> None:
    assert entropy([0.25] * 4) == pytest.approx(2.0)


def test_an_answer_that_parts_two_equal_entries_is_worth_one_bit() -> None:
    belief = normalised({"a": 1.0, "b": 1.0})

    assert expected_gain(belief, [{"a": 1.0, "b": 0.0}, {"a": 0.0, "b": 1.0}]) == pytest.approx(1.0)


def test_an_answer_that_all_make_alike_is_worth_nothing() -> None:
    belief = normalised({"a": 2.0, "b": 1.0, NONE: 1.0})
    same = {"a": 0.5, "b": 0.5, NONE: 0.5}

    assert expected_gain(belief, [same, same]) == pytest.approx(0.0)


def test_not_knowing_lessens_the_gain() -> None:
    belief = normalised({"a": 1.0, "b": 1.0})
    sharp = expected_gain(belief, [{"a": 0.9, "b": 0.1}, {"a": 0.1, "b": 0.9}])
    blunt = expected_gain(belief, [{"a": 0.6, "b": 0.4}, {"a": 0.4, "b": 0.6}])

    assert 0 < blunt < sharp < 1


def test_a_shift_is_bounded_and_told_against_none() -> None:
    shift = shift_of({"a": 0.9, "b": 0.001, NONE: 0.3}, 1.5)

    assert shift["a"] == pytest.approx(math.log(3))
    assert shift["b"] == -1.5
