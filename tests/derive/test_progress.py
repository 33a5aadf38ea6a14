"""What was overtaken by progress: steps after an error, and bars that are only drawn again."""

from __future__ import annotations

import pytest

from tests.derive.scenes import tell

ERROR = "RuntimeError: CUDA out of memory. Tried to allocate 844.00 MiB (GPU 0; 14.76 GiB total capacity)"


def bar(step: int) -> str:
    """Draw a bar as tqdm does."""
    return f"  0%|          | {step}/9565 [00:19<50:33:46, 19.03s/it]"


@pytest.mark.parametrize(
    ("lines", "outcome"),
    [
        pytest.param([bar(1), ERROR, bar(1)], "failed", id="the bar is drawn again as it closes"),
        pytest.param([ERROR, bar(1)], "failed", id="the bar closes, and the steps before it were not pasted"),
        pytest.param([ERROR, bar(1), bar(2)], "running", id="steps after the error"),
        pytest.param([bar(1), ERROR, bar(2)], "running", id="one step further"),
    ],
)
def test_a_bar_that_closes_after_a_traceback_is_no_progress(lines: list[str], outcome: str) -> None:
    assert tell(*lines).state.outcome == outcome
