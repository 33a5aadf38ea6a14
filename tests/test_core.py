"""The core of a traceback, with its head and without."""

from __future__ import annotations

import pytest

from denpex_kb.pipeline.core import traceback_core
from denpex_kb.read.prefixes import PrefixReader

HEAD = "Traceback (most recent call last):"
MAIN = ['  File "/srv/app/train.py", line 12, in main', "    step(batch)"]
STEP = ['  File "/srv/app/train.py", line 30, in step', "    batch['x']"]
ERROR = "KeyError: 'x'"


@pytest.mark.parametrize(
    ("lines", "functions"),
    [
        pytest.param([HEAD, *MAIN, *STEP, ERROR], ["main", "step"], id="whole"),
        pytest.param([*MAIN, *STEP, ERROR], ["main", "step"], id="the head is cut off"),
        pytest.param([MAIN[1], *STEP, ERROR], ["step"], id="cut off within a frame"),
        pytest.param([*MAIN, "OSError: y", "loading", *STEP, ERROR], ["step"], id="lines above are of something else"),
        pytest.param(["loading", ERROR], None, id="no frames"),
    ],
)
def test_the_frames_that_lead_to_the_error(lines: list[str], functions: list[str] | None) -> None:
    core = traceback_core(lines, PrefixReader(()))

    assert (None if core is None else [frame.function for frame in core.frames]) == functions
