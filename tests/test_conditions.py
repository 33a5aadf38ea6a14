"""Conditions on facts: what is written, what it means."""

from __future__ import annotations

import pytest

from denpex_kb.model.conditions import ConditionError, holds, parse_condition
from denpex_kb.model.facts import Fact, FactSet, FactValue


def facts(**values: FactValue) -> FactSet:
    return FactSet(Fact(name.replace("__", "."), value, "log") for name, value in values.items())


@pytest.mark.parametrize(
    ("text", "known", "verdict"),
    [
        ("zero.stage = 3", {"zero__stage": 3}, True),
        ("zero.stage = 3", {"zero__stage": 2}, False),
        ("zero.stage = 3", {}, None),
        ("zero.stage = 1 | 2", {"zero__stage": 2}, True),
        ("model.moe = true", {"model__moe": True}, True),
        ("symptom != slow", {"symptom": "slow"}, False),
        ("symptom != slow", {"symptom": "hang"}, True),
        ("deepspeed.version >=0.13.2,<0.18", {"deepspeed__version": "0.15.4"}, True),
        ("deepspeed.version >=0.13.2,<0.18", {"deepspeed__version": "0.18.0"}, False),
        ("deepspeed.version <0.18", {"deepspeed__version": "not a version"}, None),
        ("torch.version >=2.6", {"torch__version": "2.6.0+cu124"}, True),
    ],
)
def test_a_condition_holds_fails_or_is_unknown(text: str, known: dict[str, FactValue], verdict: bool | None) -> None:
    assert holds(parse_condition(text), facts(**known)) is verdict


def test_ranks_that_differ_fulfil_a_condition_when_any_of_them_does() -> None:
    differing = FactSet([Fact("torch.version", "2.5.0", "log", rank=0), Fact("torch.version", "2.6.0", "log", rank=1)])

    assert holds(parse_condition("torch.version >=2.6"), differing) is True


@pytest.mark.parametrize("text", ["", "zero.stage", "= 3", "zero.stage = ", "Zero = 3", "zero.stage = 3 | "])
def test_what_is_no_condition_is_refused_with_an_example_of_one(text: str) -> None:
    with pytest.raises(ConditionError):
        parse_condition(text)


def test_a_condition_is_written_back_as_it_was_read() -> None:
    for text in ("zero.stage = 3", "trainer = accelerate | trl", "deepspeed.version >=0.14,<0.18"):
        assert str(parse_condition(text)) == text
