"""Which logs are set aside: a third of the pairs of scenario and launcher, of which a report gives figures alone.

`set-aside.txt` lists them. What raises the figures of the other logs and not of these was learnt by heart.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from tests.scale.grid import forms_of
from tests.scale.job import Setup
from tests.scale.layouts import FORMS
from tests.scale.scenarios import SCENARIOS

SHARE = 3  # one in so many
PATH = Path(__file__).with_name("set-aside.txt")


def drawn() -> list[tuple[str, str]]:
    """Draw the pairs to set aside, by their names alone: a new scenario moves no other."""
    pairs = {(name, FORMS[form].launcher) for name, scenario in SCENARIOS.items() for form in forms_of(scenario)}
    return sorted(pair for pair in pairs if hashlib.sha256(" ".join(pair).encode()).digest()[0] % SHARE == 0)


@cache
def listed() -> frozenset[tuple[str, str]]:
    """Read the pairs that are set aside."""
    lines = PATH.read_text(encoding="utf-8").splitlines()
    return frozenset(
        (name, launcher) for name, launcher in (line.split() for line in lines if not line.startswith("#"))
    )


def is_set_aside(setup: Setup) -> bool:
    """Say whether a log is set aside."""
    return (setup.scenario, FORMS[setup.form].launcher) in listed()
