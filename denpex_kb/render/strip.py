"""The ranks of a job in few signs: one for each rank, or for several in a row where there are many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from denpex_kb.model.diagnosis import Diagnosis, RankState
from denpex_kb.model.display import spans
from denpex_kb.render.paper import Paper, Tone

Shown = Literal["initiating", "silent", "unknown", "working", "collateral", "torn-down", "completed"]
SIGNS: dict[Shown, tuple[str, str, Tone]] = {
    "initiating": ("X", "began it", "bad"),
    "silent": ("!", "silent", "warn"),
    "unknown": ("?", "no line says", "dim"),
    "working": ("o", "printed steps", "plain"),
    "collateral": ("w", "followed", "plain"),
    "torn-down": ("-", "told to stop", "dim"),
    "completed": (".", "completed", "good"),
}
_BLOCK = 8
_LABEL = 6


class Binned(Struct, frozen=True):
    """States in the order of ranks, each of `per` ranks in a row."""

    per: int
    states: tuple[Shown, ...]


def shown_state(item: RankState) -> Shown:
    """Return what is shown of a rank: of one that only printed steps, that it did."""
    return "working" if item.state == "unknown" and item.progress else item.state


def binned(ranks: Sequence[RankState], world_size: int | None, most: int) -> Binned:
    """Fold the states of ranks to at most so many; ranks of which nothing is known count as unknown.

    Of several ranks the one that began it shows, else one that is silent, else what most of them are.
    """
    end = max(world_size or 0, max((item.rank for item in ranks), default=-1) + 1)
    per = 1
    while end > most * per:
        per *= 2
    held: dict[int, list[Shown]] = {}
    for item in ranks:
        held.setdefault(item.rank // per, []).append(shown_state(item))
    states = [_shown(held.get(number, ["unknown"])) for number in range(-(-end // per))]
    return Binned(per, tuple(states))


def _shown(states: Sequence[Shown]) -> Shown:
    if "initiating" in states:
        return "initiating"
    return "silent" if "silent" in states else Counter(states).most_common(1)[0][0]


def write_strip(diagnosis: Diagnosis, paper: Paper) -> bool:
    """Write the strip where it tells something; returns whether it did."""
    ranks = diagnosis.ranks
    told = {item.state for item in ranks}
    if len(ranks) < 2 or told <= {"unknown"} or diagnosis.verdict == "healthy":
        return False
    columns = 64
    while columns > _BLOCK and columns + columns // _BLOCK + _LABEL > paper.room:
        columns //= 2
    rows = 2 if columns == 64 else 4
    strip = binned(ranks, diagnosis.input.world_size, columns * rows)
    section = paper.section("RANKS")
    legend = _legend(ranks, strip)
    for start in range(0, len(strip.states), columns):
        row = strip.states[start : start + columns]
        blocks = [row[at : at + _BLOCK] for at in range(0, len(row), _BLOCK)]
        signs = " ".join("".join(paper.paint(SIGNS[state][0], SIGNS[state][2]) for state in block) for block in blocks)
        taken = _LABEL + len(row) + len(blocks) - 1
        if len(strip.states) <= columns and taken + 3 + len(legend) <= paper.room:
            signs, legend = f"{signs}   {paper.paint(legend, 'dim')}", ""
        section.raw(f"{start * strip.per:<{_LABEL}}{signs}")
    if legend:
        section.line(legend, "dim")
    paper.blank()
    return True


def _legend(ranks: Sequence[RankState], strip: Binned) -> str:
    parts = []
    for state, (sign, word, _) in SIGNS.items():
        held = [item.rank for item in ranks if shown_state(item) == state]
        if not held:
            continue
        who = spans(held)
        named = state in ("initiating", "silent") and len(who) <= 24
        parts.append(f"{sign} {word} (rank{'s' * (len(held) > 1)} {who})" if named else f"{sign} {word} ({len(held)})")
    if strip.per > 1:
        parts.append(f"one sign: {strip.per} ranks")
    return "  ".join(parts)
