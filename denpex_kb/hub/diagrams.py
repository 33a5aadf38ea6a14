"""The mechanism of a failure as an inline SVG, drawn from an entry's `diagram` data."""

from __future__ import annotations

from typing import Literal

import msgspec
from markupsafe import Markup

from denpex_kb.hub.svg import Drawing, balanced, wrapped

Step = dict[Literal["work", "call", "wait", "skip", "fail", "done"], str]

_LANE = 74  # height of a rank's lane
_COLUMN = 128
_BOX = 46
_LEFT = 86
_GAP = 14


class Lane(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One rank, or a group of ranks that do the same, and what it does in order."""

    name: str
    steps: tuple[Step, ...]


class Meeting(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the ranks' steps in one column (from 1) are to each other."""

    column: int
    text: str
    ok: bool = False


class RanksDiagram(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="ranks"):
    """Lanes of ranks from left to right in time: who does what, and who waits for whom."""

    caption: str
    lanes: tuple[Lane, ...]
    meets: tuple[Meeting, ...] = ()


class Layer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What holds memory, and how much of it in each phase."""

    name: str
    values: tuple[float, ...]


class MemoryDiagram(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="memory"):
    """Memory over time against what the device has; the numbers are an example."""

    caption: str
    phases: tuple[str, ...]
    layers: tuple[Layer, ...]
    limit: float
    limit_text: str = "capacity"
    unit: str = "GiB"
    fails_at: str | None = None


Diagram = RanksDiagram | MemoryDiagram


def read_diagram(data: dict[str, object] | None) -> Diagram | None:
    """Read an entry's diagram.

    Raises:
        ValueError: the data are no diagram; the message says what is wrong.
    """
    if data is None:
        return None
    try:
        diagram: Diagram = msgspec.convert(data, Diagram)
    except msgspec.ValidationError as error:
        raise ValueError(f"diagram: {error}") from error
    fault = _memory_fault(diagram) if isinstance(diagram, MemoryDiagram) else _ranks_fault(diagram)
    if fault:
        raise ValueError(f"diagram: {fault}")
    return diagram


def _memory_fault(diagram: MemoryDiagram) -> str:
    if not diagram.phases or not diagram.layers or diagram.limit <= 0:
        return "memory needs phases, layers and a limit above 0"
    for layer in diagram.layers:
        if len(layer.values) != len(diagram.phases):
            return f"layer {layer.name!r} has {len(layer.values)} values for {len(diagram.phases)} phases"
    if diagram.fails_at is not None and diagram.fails_at not in diagram.phases:
        return f"fails_at: {diagram.fails_at!r} is none of the phases"
    return ""


def _ranks_fault(diagram: RanksDiagram) -> str:
    columns = max((len(lane.steps) for lane in diagram.lanes), default=0)
    if not columns:
        return "ranks needs lanes with steps"
    for lane in diagram.lanes:
        if any(len(step) != 1 for step in lane.steps):
            return f"lane {lane.name!r}: a step is one of work, call, wait, skip, fail, done with its text"
    wrong = next((meeting.column for meeting in diagram.meets if not 1 <= meeting.column <= columns), None)
    return "" if wrong is None else f"meets: column {wrong} is none of 1 to {columns}"


def draw(diagram: Diagram, name: str) -> Markup:
    """Draw a diagram; `name` makes its element ids unique on the page."""
    return _ranks(diagram, name) if isinstance(diagram, RanksDiagram) else _memory(diagram, name)


def _ranks(diagram: RanksDiagram, name: str) -> Markup:
    columns = max(len(lane.steps) for lane in diagram.lanes)
    width = _LEFT + columns * _COLUMN + 10
    notes = [balanced(meeting.text, 34) for meeting in diagram.meets]
    head = 22
    body = head + len(diagram.lanes) * _LANE
    foot = max((len(lines) for lines in notes), default=0) * 14 + (18 if notes else 6)
    height = body + foot
    drawing = Drawing(width, height, name, diagram.caption, _told_ranks(diagram))
    drawing.text(_LEFT, 12, "time", "dg-axis")
    drawing.line(_LEFT + 30, 8, width - 16, 8, "dg-time", arrow=True)
    for meeting, lines in zip(diagram.meets, notes, strict=True):
        middle = _LEFT + (meeting.column - 1) * _COLUMN + (_COLUMN - _GAP) / 2
        kind = "dg-ok" if meeting.ok else "dg-bad"
        drawing.rect(
            middle - (_COLUMN - _GAP) / 2 - 5, head - 1, _COLUMN - _GAP + 10, body - head - 6, f"dg-meet {kind}", 9
        )
        for number, line in enumerate(lines):
            drawing.text(
                _near_edge(middle, line, width), body + 12 + 14 * number, line, f"dg-note {kind}", anchor="middle"
            )
    for row, lane in enumerate(diagram.lanes):
        top = head + row * _LANE + (_LANE - _BOX) / 2 - 4
        for number, line in enumerate(wrapped(lane.name, 12)[:2]):
            drawing.text(
                0, top + _BOX / 2 + 4 + 14 * number - 7 * (len(wrapped(lane.name, 12)[:2]) - 1), line, "dg-lane"
            )
        drawing.line(_LEFT, top + _BOX / 2, width - 10, top + _BOX / 2, "dg-rail")
        for column, step in enumerate(lane.steps):
            (kind, text), x = next(iter(step.items())), _LEFT + column * _COLUMN
            drawing.rect(x, top, _COLUMN - _GAP, _BOX, f"dg-{kind}", 6)
            lines = balanced(text, 17)[:3]
            start = top + _BOX / 2 + 4 - 6.5 * (len(lines) - 1)
            for number, line in enumerate(lines):
                drawing.text(x + (_COLUMN - _GAP) / 2, start + 13 * number, line, f"dg-t dg-t-{kind}", anchor="middle")
    return drawing.markup()


def _near_edge(middle: float, line: str, width: float) -> float:
    half = len(line) * 3.6
    return min(max(middle, half), width - half)


def _told_ranks(diagram: RanksDiagram) -> str:
    words = {"work": "", "call": "calls ", "wait": "waits: ", "skip": "skips: ", "fail": "fails: ", "done": "done: "}
    lanes = [
        f"{lane.name}: " + ", then ".join(f"{words[kind]}{text}" for step in lane.steps for kind, text in step.items())
        for lane in diagram.lanes
    ]
    meets = [f"In column {meeting.column}: {meeting.text}" for meeting in diagram.meets]
    return ". ".join([*lanes, *meets]) + "."


def _memory(diagram: MemoryDiagram, name: str) -> Markup:
    left, top, plot = 52, 16, 190
    column = max(72, min(130, 560 // len(diagram.phases)))
    right = left + column * len(diagram.phases)
    width, height = right + 190, top + plot + 40
    peak = max(sum(layer.values[index] for layer in diagram.layers) for index in range(len(diagram.phases)))
    scale = plot / (max(peak, diagram.limit) * 1.08)
    bottom = top + plot
    drawing = Drawing(width, height, name, diagram.caption, _told_memory(diagram))
    for mark in (0.0, diagram.limit / 2, diagram.limit):
        drawing.line(left, bottom - mark * scale, right, bottom - mark * scale, "dg-grid")
        drawing.text(left - 8, bottom - mark * scale + 4, f"{mark:g}", "dg-axis", anchor="end")
    drawing.text(0, top - 4, diagram.unit, "dg-axis")
    for index, phase in enumerate(diagram.phases):
        x, level = left + index * column + 8, float(bottom)
        for number, layer in enumerate(diagram.layers):
            size = layer.values[index] * scale
            level = level - size
            drawing.rect(x, level, column - 16, max(size - 1, 0), f"dg-m{number % 6}", 2)
        failed = phase == diagram.fails_at
        drawing.text(
            x + (column - 16) / 2, bottom + 16, phase, "dg-axis" + (" dg-bad" if failed else ""), anchor="middle"
        )
        if failed:
            drawing.text(x + (column - 16) / 2, bottom + 31, "out of memory", "dg-note dg-bad", anchor="middle")
    limit = bottom - diagram.limit * scale
    drawing.line(left, limit, right + 6, limit, "dg-limit")
    drawing.text(right + 12, limit + 4, f"{diagram.limit_text} ({diagram.limit:g} {diagram.unit})", "dg-note dg-bad")
    for number, layer in enumerate(reversed(diagram.layers)):
        index = len(diagram.layers) - 1 - number
        y = max(limit + 22, top + 30) + 20 * number
        drawing.rect(right + 12, y - 10, 12, 12, f"dg-m{index % 6}", 2)
        drawing.text(right + 30, y, layer.name, "dg-key")
    return drawing.markup()


def _told_memory(diagram: MemoryDiagram) -> str:
    parts = [
        f"{phase}: " + ", ".join(f"{layer.name} {layer.values[index]:g}" for layer in diagram.layers)
        for index, phase in enumerate(diagram.phases)
    ]
    failed = f" It runs out in {diagram.fails_at}." if diagram.fails_at else ""
    return f"{diagram.unit} of {diagram.limit:g}. " + "; ".join(parts) + "." + failed
