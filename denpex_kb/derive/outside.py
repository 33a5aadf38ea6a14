"""Records of the machine that are none of the job's: far from its time, or outlived by a run that ended well."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from denpex_kb.derive.blocks import marks_of
from denpex_kb.derive.clocks import ZONES, Clocks
from denpex_kb.model.events import Reading, Seen
from denpex_kb.model.rules import RuleSet

_MACHINE = frozenset({"hardware", "kernel"})
_BAD = frozenset({"exception", "crash", "scheduler", "collateral", "summary", "mismatch", "exit"})
_WRAP = 180 * 86400.0  # stamps without a year that lie so far apart may be of two years, in either order


def drop_distant(readings: Sequence[Reading], clocks: Clocks, rules: RuleSet) -> list[str]:
    """Take out records of the machine from before the job began or after it ended, by more than zones can differ.

    Only files that hold nothing of the job are touched. A record without a date stays.

    Args:
        readings: everything that was read; changed in place.
        clocks: the times of all lines.
        rules: the compiled catalog.

    Returns:
        One sentence for each file of which something was taken out.
    """
    machines = [reading for reading in readings if _of_machine(reading, rules)]
    spans = [span for reading in readings if reading not in machines if (span := clocks.whole(reading.origin.name))]
    if not machines or not spans:
        return []
    begin, end = min(low for low, _ in spans), max(high for _, high in spans)
    notes: list[str] = []
    for reading in machines:
        far = [seen for seen in reading.seen if _far(clocks.of(seen.line), begin, end)]
        if not far:
            continue
        gone = {id(seen) for seen in far}
        reading.seen = [seen for seen in reading.seen if id(seen) not in gone]
        last = far[-1].line
        more = f" and {len(far) - 1} more records are" if len(far) > 1 else " is"
        notes.append(
            f"{last.file}:{last.number}{more} more than {ZONES / 3600:.0f} hours away from everything that the job"
            " printed, and passed over"
        )
    return notes


def outlived(seen: Iterable[Seen], progress: Iterable[Seen], rules: RuleSet) -> set[tuple[str, int]]:
    """Return the lines of machine records in the files beside a run that reports its end and no failure at all.

    Every file that shows steps has to show the end, too: a file that stops in mid-flight may be of a rank that the
    record explains.
    """
    machine: dict[str, list[Seen]] = {}
    ended: set[str] = set()
    for item in seen:
        marks = marks_of(item, rules)
        if marks & _BAD:
            return set()
        if "completion" in marks:
            ended.add(item.line.file)
        elif marks & _MACHINE:
            machine.setdefault(item.line.file, []).append(item)
    working = {item.line.file for item in progress}
    if not working or not working <= ended:
        return set()
    return {(item.line.file, item.line.number) for file in machine.keys() - working for item in machine[file]}


def _of_machine(reading: Reading, rules: RuleSet) -> bool:
    """Whether a file holds records of the machine, and nothing that a job prints."""
    if reading.progress or reading.origin.rank is not None:
        return False
    kinds = set().union(*(marks_of(seen, rules) for seen in reading.seen))
    return bool(kinds & _MACHINE) and not kinds & _BAD


def _far(when: float | None, begin: float, end: float) -> bool:
    if when is None:
        return False
    return ZONES < begin - when < _WRAP or ZONES < when - end < _WRAP
