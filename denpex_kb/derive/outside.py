"""What is none of the job's: accounts of other jobs; records of the machine far from it in time, or outlived by it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from denpex_kb.derive.blocks import mark_values, marks_of
from denpex_kb.derive.clocks import ZONES, Clocks
from denpex_kb.model.events import Reading, Seen
from denpex_kb.model.rules import RuleSet

_MACHINE = frozenset({"hardware", "kernel"})
_BAD = frozenset({"exception", "crash", "scheduler", "collateral", "summary", "mismatch", "exit"})
_NUMBER = re.compile(r"(?<!\d)\d{2,12}(?!\d)")
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


def drop_other_accounts(readings: Sequence[Reading], rules: RuleSet) -> list[str]:
    """Take out the scheduler's accounts of several jobs, but for those of a job that the rest of the input names.

    Args:
        readings: everything that was read; changed in place.
        rules: the compiled catalog.

    Returns:
        A sentence where something was taken out.
    """
    rows = [
        (reading, seen, account)
        for reading in readings
        for seen in reading.seen
        if (account := mark_values(seen, rules).get("account")) is not None
    ]
    accounts = {account for _, _, account in rows}
    if len(accounts) < 2:
        return []
    named = {job for reading in readings for seen in reading.seen if (job := mark_values(seen, rules).get("job"))}
    for reading in readings:
        named.update(_NUMBER.findall(reading.origin.name))
    others = accounts - named
    if not others:
        return []
    gone = {id(seen) for _, seen, account in rows if account in others}
    for reading in {id(reading): reading for reading, _, _ in rows}.values():
        reading.seen = [seen for seen in reading.seen if id(seen) not in gone]
    first = next(seen.line for _, seen, account in rows if account in others)
    which = "all but those of the job that the other lines name" if accounts & named else "all, as no line says which"
    return [f"{first.file}:{first.number}: accounts of {len(accounts)} jobs; passed over {which} (sacct -j JOB)"]


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
