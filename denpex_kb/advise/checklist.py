"""Testing a hypothesis box by box: what each answer does to the confidence, and when it is refuted."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct, structs

from denpex_kb.model.diagnosis import Box

State = Literal["seen", "not seen", "skipped", "open"]
Kind = Literal["reproduction", "signal", "control", "fix"]
Standing = Literal["confirmed", "likely", "open", "doubtful", "refuted"]

START = 0.5  # the entry is suspected, no more
_CONTROL = re.compile(r"\bcontrol experiment\b|\bwould refute\b|\brefutes?\b", re.IGNORECASE)
_FIX = re.compile(r"^the fix removes\b|\bthe fix removes the symptom\b", re.IGNORECASE)
_REPRODUCE = re.compile(r"^reproduce\b", re.IGNORECASE)
# Log-odds of (seen, not seen). A control experiment is seen when its outcome refutes the hypothesis.
_WEIGHTS: dict[Kind, tuple[float, float]] = {
    "reproduction": (0.6, -1.2),
    "signal": (1.0, -0.9),
    "control": (-4.5, 0.8),
    "fix": (2.5, -2.5),
}


class Standings(Struct, frozen=True):
    """Where the hypothesis stands after the answers so far."""

    confidence: float
    standing: Standing
    why: str


def kind_of(box: Box) -> Kind:
    """Say what a box tests."""
    if _FIX.search(box.text):
        return "fix"
    if _CONTROL.search(box.text):
        return "control"
    return "reproduction" if _REPRODUCE.search(box.text) else "signal"


def stand(boxes: Sequence[Box], start: float = START) -> Standings:
    """Weigh the answers."""
    odds = math.log(start / (1 - start))
    for box in boxes:
        seen, unseen = _WEIGHTS[kind_of(box)]
        odds += seen if box.state == "seen" else unseen if box.state == "not seen" else 0.0
    confidence = round(min(max(1 / (1 + math.exp(-odds)), 0.01), 0.99), 2)
    refuting = next((box for box in boxes if kind_of(box) == "control" and box.state == "seen"), None)
    if refuting is not None:
        return Standings(min(confidence, 0.05), "refuted", "the control experiment speaks against it")
    answered = sum(box.state in ("seen", "not seen") for box in boxes)
    if not answered:
        return Standings(confidence, "open", "nothing was answered yet")
    unseen_signals = sum(box.state == "not seen" and kind_of(box) == "signal" for box in boxes)
    seen_signals = sum(box.state == "seen" and kind_of(box) == "signal" for box in boxes)
    why = f"{seen_signals} sign{'s' * (seen_signals != 1)} seen, {unseen_signals} looked for and not seen"
    fixed = next((box.state for box in boxes if kind_of(box) == "fix"), "open")
    if fixed == "not seen":
        why += "; the fix did not remove the symptom"
    elif fixed == "seen":
        why += "; the fix removed the symptom"
    standing: Standing
    if confidence <= 0.1:
        standing = "refuted"
    elif confidence < 0.4:
        standing = "doubtful"
    elif confidence >= 0.9:
        standing = "confirmed"
    else:
        standing = "likely" if confidence >= 0.65 else "open"
    return Standings(confidence, standing, why)


def answered(boxes: Sequence[Box], index: int, state: State) -> tuple[Box, ...]:
    """Return the boxes with one answer given."""
    return tuple(structs.replace(box, state=state) if number == index else box for number, box in enumerate(boxes))


def resumed(boxes: Sequence[Box], states: dict[str, State]) -> tuple[Box, ...]:
    """Return the boxes with earlier answers, found by the boxes' texts: an entry may have changed meanwhile."""
    return tuple(structs.replace(box, state=states.get(box.text, box.state)) for box in boxes)
