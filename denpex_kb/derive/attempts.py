"""A restarted job has several attempts; they are told apart before anything else is concluded."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from msgspec import Struct

from denpex_kb.derive.blocks import mark_values, marks_of
from denpex_kb.derive.clocks import Clocks
from denpex_kb.model.events import Line, Reading, Seen
from denpex_kb.model.rules import RuleSet

# Restart lines of several agents stand together; further apart than this they announce another attempt.
_SAME_RESTART_LINES = 60
_SAME_RESTART_SECONDS = 45.0
# A launcher that prints these has just been started: after a failure this is another attempt (a requeue, a shell loop).
_LAUNCHES = frozenset(
    {"torchrun-elastic-operator", "torchrun-omp-notice", "deepspeed-command", "srun-allocated", "ray-connected"}
)
_ENDS = frozenset({"summary", "exit", "scheduler"})


class _Cut(Struct, frozen=True):
    """Where another attempt begins in one file: behind a line, and when."""

    line: int
    time: float | None


def number_attempts(readings: Sequence[Reading], rules: RuleSet, clocks: Clocks) -> int:
    """Number the attempt of every line, from 0; returns how many attempts there are.

    A log folder of torchrun states the attempt in its path; elsewhere each restart that a launcher announces begins
    another one, and a file that shows none (a rank's own) is cut at the times that the others show.
    """
    cuts = {reading.origin.name: _cuts(reading, rules, clocks) for reading in readings}
    leading = max(cuts.values(), key=len, default=[])
    times = [cut.time for cut in leading if cut.time is not None]
    last = 0
    for reading in readings:
        own = cuts[reading.origin.name]
        ends = [cut.line for cut in own]
        for line in _lines(reading):
            if reading.origin.attempt is not None:
                line.attempt = reading.origin.attempt
            elif own:
                line.attempt = sum(1 for end in ends if line.number > end)
            elif len(times) == len(leading):
                line.attempt = _by_time(line, times, clocks)
            last = max(last, line.attempt)
    return last + 1


def is_restart(seen: Seen, rules: RuleSet) -> bool:
    """Say whether a line announces that the workers are started again."""
    return "restart" in marks_of(seen, rules)


def _lines(reading: Reading) -> list[Line]:
    lines = [seen.line for seen in (*reading.seen, *reading.progress)]
    return [*lines, *reading.lasts.values(), *([reading.last] if reading.last is not None else [])]


def _by_time(line: Line, times: Sequence[float], clocks: Clocks) -> int:
    span = clocks.span(line) if times else None
    return bisect_right(times, span.low) if span is not None else 0


def _cuts(reading: Reading, rules: RuleSet, clocks: Clocks) -> list[_Cut]:
    cuts: list[_Cut] = []
    previous: Line | None = None  # the last line that announced a restart
    ended: Line | None = None  # the last line that ended an attempt
    for seen in reading.all_seen():
        kinds = marks_of(seen, rules)
        line = seen.line
        if "restart" in kinds:
            time = clocks.of(line)
            if previous is not None and _together(previous, line, clocks):
                # the announcement still belongs to what failed, and so do those of the other agents
                cuts[-1] = _Cut(line.number, cuts[-1].time)
            else:
                cuts.append(_Cut(line.number, time))
            previous, ended = line, None
        elif ended is not None and "start" in kinds and _launches(seen, rules) and _later(ended, line, clocks):
            cuts.append(_Cut(line.number - 1, clocks.of(line)))
            previous, ended = line, None
        elif kinds & _ENDS and (previous is None or not _together(previous, line, clocks)):
            ended = line
    return cuts


def _together(left: Line, right: Line, clocks: Clocks) -> bool:
    before, after = clocks.of(left), clocks.of(right)
    if before is not None and after is not None:
        return abs(after - before) < _SAME_RESTART_SECONDS
    return right.number - left.number <= _SAME_RESTART_LINES


def _later(ended: Line, line: Line, clocks: Clocks) -> bool:
    """Logs of several nodes, one behind the other in a file, are no attempts."""
    before, after = clocks.of(ended), clocks.of(line)
    return before is None or after is None or after >= before


def _launches(seen: Seen, rules: RuleSet) -> bool:
    owners = {
        rules.patterns[match.pattern].owner for match in seen.matches if rules.patterns[match.pattern].target == "mark"
    }
    return bool(owners & _LAUNCHES) or mark_values(seen, rules).get("attempt", "0") not in ("0", "1")
