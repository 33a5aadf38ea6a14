"""An answer of Denpex inside a log: what it quotes was not printed by the run."""

from __future__ import annotations

from collections.abc import Sequence

from denpex_kb.model.events import Reading, Seen
from denpex_kb.model.rules import ScanPattern

_LONGEST = 3000  # lines of one answer; a beginning without an end so far below is none
_ABOVE = 6  # lines above what tells its beginning: the verdict, the entry, how a question was read


def without_reports(reading: Reading, patterns: Sequence[ScanPattern]) -> Reading:
    """Leave out what the answers in a log quote, and say where they stand."""
    begins, ends = _marked(reading, patterns, "report_begins"), _marked(reading, patterns, "report_ends")
    if not begins or not ends:
        return reading
    spans: list[tuple[int, int]] = []
    for number in begins:
        end = next((other for other in ends if number < other <= number + _LONGEST), None)
        if end is not None and (not spans or number > spans[-1][1]):
            spans.append((number - _ABOVE, end))
    if not spans:
        return reading

    def quoted(number: int | None) -> bool:
        return number is not None and any(first <= number <= last for first, last in spans)

    reading.seen = [seen for seen in reading.seen if not quoted(seen.line.number)]
    reading.progress = [seen for seen in reading.progress if not quoted(seen.line.number)]
    reading.facts = [fact for fact in reading.facts if not quoted(fact.line)]
    reading.notes += [
        f"{reading.origin.name}:{max(first, 1)}-{last}: an answer of Denpex; what it quotes is left out"
        for first, last in spans
    ]
    return reading


def _marked(reading: Reading, patterns: Sequence[ScanPattern], what: str) -> list[int]:
    return [seen.line.number for seen in reading.seen if _gives(seen, patterns, what)]


def _gives(seen: Seen, patterns: Sequence[ScanPattern], what: str) -> bool:
    return any(what in patterns[match.pattern].gives for match in seen.matches)
