"""Which logs there are: scenarios, forms, releases and sizes, drawn so that all come up."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence

from tests.scale.job import Job, Setup
from tests.scale.label import Label
from tests.scale.layouts import FORMS
from tests.scale.lines import RELEASES, number
from tests.scale.scenarios import SCENARIOS, Scenario


def forms_of(scenario: Scenario) -> list[str]:
    """List the forms in which a scenario can be written."""
    return [name for name in scenario.only or FORMS if FORMS[name].launcher in scenario.launchers]


def setups(
    count: int, sizes: Sequence[int], seed: int = 1, scenarios: Sequence[str] = (), forms: Sequence[str] = ()
) -> Iterator[Setup]:
    """Draw set-ups: the scenarios in turn, each through its forms, releases and sizes."""
    chance = random.Random(seed)
    cycles: dict[str, tuple[Iterator[str], Iterator[str], Iterator[int]]] = {}
    for name in scenarios or SCENARIOS:
        scenario = SCENARIOS[name]
        ways = [form for form in forms_of(scenario) if not forms or form in forms]
        releases = [release for release in RELEASES if number(release) >= number(scenario.since)]
        drawn = [chance.sample(choices, len(choices)) for choices in (ways, releases)]
        if ways:
            large = itertools.cycle(chance.sample(list(sizes), len(sizes)))
            cycles[name] = (itertools.cycle(drawn[0]), itertools.cycle(drawn[1]), large)
    for index, name in enumerate(itertools.islice(itertools.cycle(cycles), count if cycles else 0)):
        ways_on, releases_on, sizes_on = cycles[name]
        drawn_size = next(sizes_on)
        yield Setup(
            scenario=name, form=next(ways_on), ranks=drawn_size, torch=next(releases_on), seed=seed * 1000 + index
        )


def play(setup: Setup) -> tuple[Job, Label]:
    """Let a job run and fail."""
    job = Job(setup, FORMS[setup.form].launcher)
    return job, SCENARIOS[setup.scenario].play(job)
