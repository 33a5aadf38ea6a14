"""What more of the run would decide: the end of a traceback that breaks off, what stood above a mere summary."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from msgspec import Struct

from denpex_kb.index.open import Index
from denpex_kb.model.diagnosis import Diagnosis
from denpex_kb.model.events import Line
from denpex_kb.pipeline.logs import Examined

PART = "paste "  # how the keys of requests begin
_LINES = 40  # that are asked for


class Missing(Struct, frozen=True):
    """A part of the run's output that was not given."""

    kind: str  # traceback | above | end | log
    text: str  # the request
    find: str
    share: float  # of the uncertainty that it most often ends
    file: str = ""
    line: int = 0  # the traceback's first line, or the line above which it stands
    rank: int | None = None

    @property
    def key(self) -> str:
        """Under which it counts as asked for."""
        # one asks once for each: other ranks' tracebacks end alike, and what is pasted of the rest is all there is
        return f"{PART}{self.kind if self.kind in ('traceback', 'log') else 'more'}"


def log_itself() -> Missing:
    """Return the request for the run's output, where there is none yet."""
    return Missing(
        "log",
        f"Is there a log? Paste its last {_LINES} lines, or drop the file or the folder here: lines decide what words"
        " leave open.",
        "the console's output, the job's output file, torchrun --log-dir DIR; where it hangs: py-spy dump --pid PID",
        0.3,
    )


def missing_parts(examined: Examined, diagnosis: Diagnosis, index: Index) -> tuple[Missing, ...]:
    """Return what would decide, the most telling part first."""
    cut = [_end_of(line) for line in broken_off(examined, index)][:1]
    return (*cut, *_by_verdict(examined, diagnosis, index, bool(cut)))


def broken_off(examined: Examined, index: Index) -> list[Line]:
    """Return the first lines of tracebacks whose last line, which says what happened, does not stand in the input."""
    patterns = index.rules.patterns
    found: list[Line] = []
    for reading in examined.readings:
        kinds: dict[int, set[str]] = defaultdict(set)
        heads: dict[int, Line] = {}
        for seen in reading.seen:
            if seen.block < 0:
                continue
            for match in seen.matches:
                if patterns[match.pattern].target == "mark":
                    kinds[seen.block].add(patterns[match.pattern].name)
                    if patterns[match.pattern].name == "traceback":
                        heads.setdefault(seen.block, seen.line)
        found += [
            line for block, line in heads.items() if "traceback" in kinds[block] and "exception" not in kinds[block]
        ]
    return found


def _end_of(head: Line) -> Missing:
    return Missing(
        "traceback",
        f"How does the traceback at {head.place} end? Its last line says what happened: paste it, from"
        ' "Traceback" on if you can.',
        f"the log from {head.place} on, to the first line that is not indented",
        0.8,
        head.file,
        head.number,
        head.rank,
    )


def _by_verdict(examined: Examined, diagnosis: Diagnosis, index: Index, cut: bool) -> Iterator[Missing]:
    best = diagnosis.hypotheses[0] if diagnosis.recognised else None
    if best is not None:
        rule = index.by_id[best.id]
        place = next((item for item in best.evidence if item.file and item.line), None)
        event = examined.pieces[-1].began.event
        told = event is not None and event.kind == "exception" and not event.follows and not cut
        if (rule.standing != "specific" or rule.role != "initiating") and place is not None:
            yield _above(place.file or "", place.line or 0, _rank(diagnosis, place.rank), told)
        return
    if diagnosis.verdict == "healthy" or cut:
        return
    yield _last(examined, diagnosis)


def _rank(diagnosis: Diagnosis, own: int | None) -> int | None:
    return diagnosis.initiating.rank if diagnosis.initiating is not None else own


def _above(file: str, line: int, rank: int | None, told: bool) -> Missing:
    who = f"rank {rank}" if rank is not None else "the rank that failed"
    what = "is an exception that no entry names" if told else "tells that something failed, not why"
    return Missing(
        "above",
        f"{file}:{line} {what}. What did {who} print before that? Paste its last {_LINES} lines.",
        f"{who}'s own log, or the lines above {file}:{line}; torchrun --log-dir DIR --redirects 3 keeps one a rank",
        0.2 if told else 0.6,
        file,
        line,
        rank,
    )


def _last(examined: Examined, diagnosis: Diagnosis) -> Missing:
    reading = max(examined.readings, key=lambda item: item.lines)
    error = diagnosis.first_error
    rank = error.rank if error is not None else None
    who = f"rank {rank}" if rank is not None else "the run"
    file = error.file if error is not None else reading.origin.name
    return Missing(
        "end",
        f"No line of this says yet what happened. Paste the last {_LINES} lines that {who} printed, warnings included.",
        "tail -40 of the log; the other ranks' logs; py-spy dump --pid PID where it hangs",
        0.4,
        file,
        0,
        rank,
    )
