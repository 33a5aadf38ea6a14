"""A diagnosis → one HTML file that needs nothing else: no network, no script, no other file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import jinja2
from markupsafe import Markup
from msgspec import Struct

from denpex_kb import __version__
from denpex_kb.model.diagnosis import Attempt, Diagnosis, EventPlace, Evidence
from denpex_kb.model.display import Excerpt, spans
from denpex_kb.render.html import shown, words
from denpex_kb.render.picture import svg
from denpex_kb.render.picture.lanes import KINDS, Picture, picture_of
from denpex_kb.render.picture.quotes import Quotes
from denpex_kb.render.strip import SIGNS, shown_state
from denpex_kb.render.terminal import ACTIONS, about_restart, percent

_PACKAGE = Path(__file__).resolve().parents[2]
_MOST_ROWS = 8192
_LEAST_MAPPED = 5  # ranks; of fewer the lanes say all


class _Shown(Struct, frozen=True):
    """One attempt with its picture."""

    number: int
    outcome: str
    best: str
    picture: Picture
    sequence: list[tuple[str, str, Markup]]


class _Reason(Struct, frozen=True):
    """A piece of evidence, and its quote where it has one."""

    text: str
    name: str
    place: str
    rank: int | None
    count: int
    quote: int | None


Around = Callable[[Sequence[tuple[str, int]]], Mapping[tuple[str, int], Excerpt]]


def diagnosis_page(diagnosis: Diagnosis, around: Around = lambda _: {}) -> str:
    """Write the report.

    Args:
        diagnosis: the answer.
        around: reads the lines around those that are quoted (file and line), as far as it can.
    """
    folder = _folder()
    quotes = Quotes()
    began = diagnosis.initiating
    quoted = None
    if began is not None and began.file is not None:
        quoted = quotes.add(EventPlace(began.file, began.line or 0, began.rank, began.text), "what began it")
    attempts = [_attempt(attempt, quotes) for attempt in diagnosis.attempts if attempt.course is not None]
    best = diagnosis.hypotheses[0] if diagnosis.hypotheses else None
    evidence = [_reason(item, quotes) for item in best.evidence] if best is not None else []
    against = [_reason(item, quotes) for item in best.against] if best is not None else []
    error = diagnosis.first_error
    first = quotes.add(error, "the first real error") if error is not None else None
    collateral = [(item, quotes.add(item.first, item.because)) for item in diagnosis.collateral]
    several = len(diagnosis.ranks) > 1
    told = any(shown_state(item) != "unknown" for item in diagnosis.ranks)
    cells = (
        svg.map_svg(diagnosis.ranks, diagnosis.input.world_size)
        if told and len(diagnosis.ranks) >= _LEAST_MAPPED
        else None
    )
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder / "report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=shown,
    )
    environment.filters.update({"words": words, "spans": spans, "percent": percent})
    return environment.get_template("report.html").render(
        d=diagnosis,
        best=best,
        began=began,
        began_quote=quoted,
        attempts=attempts,
        evidence=evidence,
        against=against,
        first_error=first,
        collateral=collateral,
        cells=cells,
        counted_states=_counted(diagnosis),
        rows=[(item, SIGNS[shown_state(item)][1]) for item in diagnosis.ranks[:_MOST_ROWS]] if several else [],
        quotes=quotes.all(),
        excerpts=around([(quote.file, quote.line) for quote in quotes.all()]),
        others=[item for item in diagnosis.hypotheses[1:] if item.role != "collateral"][:5],
        action=ACTIONS[diagnosis.action.kind] if diagnosis.action is not None else "",
        restart=about_restart(diagnosis.action) if diagnosis.action is not None else "",
        kinds=KINDS,
        lane_svg=svg.lane_svg,
        axis_svg=svg.axis_svg,
        key_svg=svg.key_svg,
        css=Markup("\n".join(_css(folder))),  # noqa: S704 (our own style sheets)
        version=__version__,
    )


def _counted(diagnosis: Diagnosis) -> list[tuple[str, str, int]]:
    """Return state, word and number of ranks, for those that there are."""
    counts = Counter(shown_state(item) for item in diagnosis.ranks)
    last = max((item.rank for item in diagnosis.ranks), default=-1)
    counts["unknown"] += max(0, max(last + 1, diagnosis.input.world_size or 0) - len(diagnosis.ranks))
    return [(state, word, counts[state]) for state, (_, word, _) in SIGNS.items() if counts[state]]


def _folder() -> Path:
    """Return the folder of templates and styles: the checkout's, or the one that the wheel carries."""
    checkout = _PACKAGE.parent / "site"
    return checkout if (checkout / "report").is_dir() else _PACKAGE / "_data" / "site"


def _css(folder: Path) -> list[str]:
    """Return the site's style sheet, whose language the report speaks, and what it adds."""
    return [(folder / name).read_text(encoding="utf-8") for name in ("static/hub.css", "report/report.css")]


def _attempt(attempt: Attempt, quotes: Quotes) -> _Shown:
    assert attempt.course is not None
    named = next((incident.hypotheses[0] for incident in attempt.incidents if incident.hypotheses), None)
    return _Shown(
        attempt.number,
        attempt.outcome,
        f"{named.title} ({percent(named.confidence)})" if named is not None else "",
        picture_of(attempt.course, quotes),
        svg.sequence_svg(attempt.course.lanes),
    )


def _reason(item: Evidence, quotes: Quotes) -> _Reason:
    quote = None
    place = ""
    if item.file is not None:
        place = f"{item.file}:{item.line}" if item.line is not None else item.file
        if item.line is not None and item.text and item.what != "fact":
            quote = quotes.add(EventPlace(item.file, item.line, item.rank, item.text), item.name)
    return _Reason(item.text or item.name, item.name, place, item.rank, item.count, quote)
