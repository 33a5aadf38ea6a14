"""Lanes, maps and rulers as SVG text that needs no script and no picture: its looks come from the style sheet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from markupsafe import Markup, escape

from denpex_kb.model.diagnosis import Lane, MarkKind, RankState
from denpex_kb.render.html import visible
from denpex_kb.render.picture.lanes import KINDS, Picture, ShownLane, Sign
from denpex_kb.render.picture.scale import Tick
from denpex_kb.render.picture.telling import call, named
from denpex_kb.render.strip import SIGNS, Shown, binned, shown_state

_HEIGHT = 34
_MIDDLE = 17
# The shapes differ, so that nobody needs to tell colours apart. Around 0, in pixels.
_SHAPES: dict[MarkKind, str] = {
    "began": '<path d="M0-9 9 0 0 9-9 0z"/><path class="in" d="M-3-3 3 3M3-3-3 3"/>',
    "error": '<path d="M0-8 8 6H-8z"/><path class="in" d="M0-3V2M0 3.6V4.6"/>',
    "machine": '<path d="M-7-7H7V7H-7z"/><path class="in" d="M-3-3H3V3H-3z"/>',
    "follows": '<circle r="6.5"/>',
    "stopped": '<path d="M-6-6H6V6H-6z"/>',
    "ended": '<path class="cross" d="M-5.5-5.5 5.5 5.5M5.5-5.5-5.5 5.5"/>',
    "summary": '<path d="M-5-7H5V7H-5z"/><path class="in" d="M-2.500-3H2.500M-2.500 0H2.500M-2.500 3H1"/>',
    "completed": '<circle r="7.500"/><path class="in" d="M-3.500 0-1 3 3.500-3"/>',
    "stands": '<path d="M-7-2 0-8 7-2V7H-7z"/>',
    "last": '<path class="cross" d="M0-8V8"/>',
}
_COLUMNS = 64
_MOST_CELLS = 8192
_MOST_SEQUENCES = 12


def lane_svg(lane: ShownLane, picture: Picture) -> Markup:
    """Draw one lane; its width is that of the page, so that signs and letters keep their size."""
    parts = [_open_lane("group", f"{lane.who}: {lane.headline}")]
    if picture.began is not None:
        x = f"{_n(picture.began)}%"
        parts.append(f'<line class="since" x1="{x}" x2="{x}" y1="0" y2="100%"/>')
    parts += [_bar(bar.kind, bar.x, bar.width, bar.label) for bar in lane.bars]
    parts += [_sign(sign) for sign in lane.signs]
    return Markup("".join([*parts, "</svg>"]))  # noqa: S704 (every text was escaped)


def _open_lane(role: str, label: str) -> str:
    return (
        f'<svg class="ln-svg" height="{_HEIGHT}" role="{role}" aria-label="{_t(label)}">'
        f'<line class="rail" x1="0" x2="100%" y1="{_MIDDLE}" y2="{_MIDDLE}"/>'
    )


def _bar(kind: str, x: float, width: float, label: str) -> str:
    place = f'x="{_n(x)}%" width="{_n(width)}%" y="{_MIDDLE - 6}" height="12" rx="2"'
    return f'<rect class="bar-{kind}" {place}><title>{_t(label)}</title></rect>'


def axis_svg(picture: Picture) -> Markup:
    """Draw the ruler above the lanes."""
    return Markup(  # noqa: S704 (every text was escaped)
        '<svg class="axis-svg" height="40" aria-hidden="true">'
        + "".join(map(_pause, picture.pauses))
        + "".join(_tick(tick, picture.began) for tick in picture.ticks)
        + "</svg>"
    )


def _pause(pause: Tick) -> str:
    return f'<text class="pause" x="{_n(pause.x)}%" y="35" text-anchor="middle">{_t(pause.text)}</text>'


def _tick(tick: Tick, began: float | None) -> str:
    kind = "tick" + (" at-began" if began is not None and abs(tick.x - began) < 0.05 else "")
    kind += "" if tick.narrow else " wide-only"
    x = f"{_n(tick.x)}%"
    return (
        f'<text class="{kind}" x="{x}" y="14" text-anchor="{tick.anchor}">{_t(tick.text)}</text>'
        f'<line class="{kind}" x1="{x}" x2="{x}" y1="19" y2="40"/>'
    )


def key_svg(kind: str) -> Markup:
    """Draw a sign or a bar for the legend and the lists."""
    if kind in ("work", "wait"):
        body = f'<rect class="bar-{kind}" x="1" y="4" width="20" height="10" rx="2"/>'
        return Markup(f'<svg class="key" width="22" height="18" aria-hidden="true">{body}</svg>')  # noqa: S704
    shape = _SHAPES[kind]  # type: ignore[index]
    return Markup(  # noqa: S704 (constants)
        f'<svg class="key" width="18" height="18" viewBox="-9.500 -9.500 19 19" aria-hidden="true">'
        f'<g class="sg sg-{kind}">{shape}</g></svg>'
    )


def _sign(sign: Sign) -> str:
    return (
        f'<a href="#q{sign.quote}" aria-label="{_t(KINDS[sign.kind])}, {_t(sign.label)}">'
        f'<svg x="{_n(sign.x)}%" y="{_MIDDLE}" overflow="visible">'
        f'<g class="sg sg-{sign.kind}"><title>{_t(sign.label)}</title>{_SHAPES[sign.kind]}</g></svg></a>'
    )


def map_svg(ranks: Sequence[RankState], world_size: int | None) -> tuple[Markup, int, int]:
    """Draw every rank as a cell, in rows; returns the drawing, ranks in a cell, and cells in a row."""
    strip = binned(ranks, world_size, _MOST_CELLS)
    total = len(strip.states)
    columns = 2 * _COLUMNS if total > 1024 else _COLUMNS if total > 128 else 32 if total > 32 else max(total, 1)
    rows = -(-total // columns)
    cell = 12  # of the drawing, which is shown smaller where there are many
    size = f'viewBox="0 0 {columns * cell} {rows * cell}" width="{min(columns * cell, 1024)}"'
    parts = [f'<svg class="rmap" {size} role="img" aria-label="{_t(counted(ranks))}">']
    for row in range(rows):
        states = strip.states[row * columns : (row + 1) * columns]
        column = 0
        for state, run in groupby(states):
            length = len(list(run))
            first = (row * columns + column) * strip.per
            title = _titled(first, length * strip.per, state)
            parts.append(_run(column * cell, row * cell, length * cell, cell, state, title))
            column += length
    lines = "".join(f"M{column * cell} 0V{rows * cell}" for column in range(1, columns))
    lines += "".join(f"M0 {row * cell}H{columns * cell}" for row in range(1, rows))
    parts.append(f'<path class="grid" d="{lines}"/></svg>')
    return Markup("".join(parts)), strip.per, columns  # noqa: S704 (every text was escaped)


def _run(x: int, y: int, width: int, height: int, state: Shown, title: str) -> str:
    body = f'<rect class="c c-{state}" x="{x}" y="{y}" width="{width}" height="{height}"/>'
    if state == "initiating":
        crosses = "".join(f"M{at + 3} {y + 3}l6 6m0-6l-6 6" for at in range(x, x + width, height))
        body += f'<path class="cx" d="{crosses}"/>'
    elif state == "silent":
        bangs = "".join(f"M{at + 6} {y + 3}v4m0 1.500v1" for at in range(x, x + width, height))
        body += f'<path class="cb" d="{bangs}"/>'
    return f"<g><title>{_t(title)}</title>{body}</g>"


def _titled(first: int, length: int, state: Shown) -> str:
    who = f"rank {first}" if length == 1 else f"ranks {first}-{first + length - 1}"
    return f"{who}: {SIGNS[state][1]}"


def counted(ranks: Iterable[RankState]) -> str:
    """Say of how many ranks what is known."""
    held = list(ranks)
    counts = [(SIGNS[state][1], sum(shown_state(item) == state for item in held)) for state in SIGNS]
    return "The ranks of the job: " + ", ".join(f"{number} {word}" for word, number in counts if number)


def sequence_svg(lanes: Sequence[Lane]) -> list[tuple[str, str, Markup]]:
    """Draw how far each lane came in the collectives of the group that hung: who, what it called, the drawing.

    Empty where all are at the same one.
    """
    waits = [(lane, lane.wait) for lane in lanes if lane.wait is not None and lane.ranks]
    main = [(lane, wait) for lane, wait in waits if wait.group == waits[0][1].group]
    reached = [number for _, wait in main for number in (wait.seq, wait.completed) if number is not None]
    if len({(wait.seq, wait.op, wait.size) for _, wait in main}) < 2 or not reached:
        return []
    low, high = min(reached) - 1, max(reached) + 1
    found = []
    for lane, wait in main[:_MOST_SEQUENCES]:
        at = wait.seq if wait.seq is not None else (wait.completed or 0) + 1
        x = 10 + (at - low) / max(high - low, 1) * 80
        text = f"{at}: {call(wait)}" if wait.op else f"completed {wait.completed}, called no other"
        kind: MarkKind = "began" if any(mark.kind == "began" for mark in lane.marks) else "follows"
        drawing = (
            f"{_open_lane('img', f'collective {text}')}{_bar('work', 0, x, 'completed')}"
            f'<svg x="{_n(x)}%" y="{_MIDDLE}" overflow="visible">'
            f'<g class="sg sg-{kind}">{_SHAPES[kind]}</g></svg></svg>'
        )
        found.append((named(lane.ranks)[0], text, Markup(drawing)))  # noqa: S704 (every text was escaped)
    return found


def _n(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")


def _t(text: str) -> str:
    return str(escape(visible(text)))
