"""Two runs, before and after the fix: is the symptom gone, still there, or was its place not reached."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from denpex_kb.api import KnowledgeBase
from denpex_kb.errors import UsageError
from denpex_kb.model.diagnosis import Diagnosis, Hypothesis
from denpex_kb.report.reach import Reach, read_reach

Result = Literal["gone", "still there", "not reached"]
_NEAR = 0.5  # of the best hypothesis' confidence; an entry below that is no symptom of the run
_STATUS: dict[Result, int] = {"gone": 0, "still there": 1, "not reached": 3}


class Comparison(Struct, frozen=True):
    """What two runs show together."""

    result: Result
    why: str
    before: str  # how far each came
    after: str
    other: Hypothesis | None = None  # another failure that ended the new run

    @property
    def status(self) -> int:
        """The exit status: 0 gone, 1 still there, 3 not reached."""
        return _STATUS[self.result]


def compare_runs(kb: KnowledgeBase, entry_id: str, before: Sequence[Path], after: Sequence[Path]) -> Comparison:
    """Compare the run that failed with a new one.

    Raises:
        UsageError: the first run does not show this failure.
        InputError: a log cannot be read.
    """
    old = kb.diagnose(list(before))
    if _shown(old, entry_id) is None:
        best = old.hypotheses[0].id if old.hypotheses else f"nothing known ({old.verdict})"
        raise UsageError(f"the log before the fix does not show {entry_id}; it shows {best}")
    new = kb.diagnose(list(after))
    return _judged(entry_id, new, read_reach(kb, before), read_reach(kb, after))


def _shown(diagnosis: Diagnosis, entry_id: str) -> Hypothesis | None:
    """Return the entry's hypothesis where it is the best of an incident, or near it."""
    incidents = [incident.hypotheses for attempt in diagnosis.attempts for incident in attempt.incidents]
    for hypotheses in (diagnosis.hypotheses, *incidents):
        for item in hypotheses:
            if item.id == entry_id and item.confidence > _NEAR * hypotheses[0].confidence:
                return item
    return None


def _judged(entry_id: str, new: Diagnosis, was: Reach, now: Reach) -> Comparison:
    far, further = was.spoken(), now.spoken()
    found = _shown(new, entry_id)
    other = new.hypotheses[0] if new.hypotheses and new.hypotheses[0].id != entry_id else None
    if found is not None and new.verdict != "healthy":
        return Comparison("still there", f"the new run shows it too ({found.confidence:.0%})", far, further)
    passed = now.passed(was)
    if passed:
        why = "the new run passed the place of the failure without it"
        if other is not None:
            why += f"; it ended by another failure, {other.id}"
        return Comparison("gone", why, far, further, other)
    if other is not None:
        why = f"another failure, {other.id}, ended the new run before that place"
    elif passed is None:
        why = "neither log shows steps, times or an end that could be compared; let the new run go on, or log its steps"
    else:
        why = "the new log ends before the place of the failure; let the run go on"
    return Comparison("not reached", why, far, further, other)
