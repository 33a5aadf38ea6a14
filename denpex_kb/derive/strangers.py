"""Kernel records of processes that are not the job's: what the machine did to others explains nothing here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import structs

from denpex_kb.derive.blocks import mark_values, marks_of
from denpex_kb.model.events import Reading, Seen
from denpex_kb.model.rules import RuleSet
from denpex_kb.model.stacks import Process


def drop_strangers(
    readings: Iterable[Reading], alive: Sequence[Process], world_size: int | None, rules: RuleSet
) -> list[str]:
    """Take out records of ended processes where every rank was alive when its stack was taken.

    Without the stacks of all ranks, the process may have been one of the job's, and its record stays.

    Args:
        readings: everything that was read; changed in place.
        alive: the processes that dumps show; those that a crash printed are passed over.
        world_size: how many ranks there are, where that is known.
        rules: the compiled catalog.

    Returns:
        One sentence for each record that was taken out.
    """
    standing = [process for process in alive if not process.fatal]
    pids = {process.pid for process in standing}
    found = len({process.rank for process in standing if process.rank is not None})
    if None in pids or not found or found < (world_size or found):
        return []
    notes: list[str] = []
    for reading in readings:
        ended = [(seen, values) for seen in reading.seen if (values := _ended(seen, rules)) is not None]
        strangers = [(seen, values) for seen, values in ended if int(values["pid"]) not in pids]
        if not strangers or len(strangers) < len(ended):
            continue  # a record of the job's own process stands in the file: the lines around tell of it
        owners = {rules.patterns[match.pattern].owner for seen, _ in strangers for match in seen.matches}
        reading.seen = [left for seen in reading.seen if (left := _without(seen, owners, rules)) is not None]
        notes += [
            f"{seen.line.file}:{seen.line.number}: process {values['pid']} ({values['program']}) is none of the job's,"
            " whose ranks were all alive when their stacks were taken; the record is passed over"
            for seen, values in strangers
        ]
    return notes


def _ended(seen: Seen, rules: RuleSet) -> dict[str, str] | None:
    """Return what a kernel record says of the process that it ended; None for other lines."""
    if "kernel" not in marks_of(seen, rules):
        return None
    values = mark_values(seen, rules)
    return values if values.get("pid", "").isdigit() and "program" in values else None


def _without(seen: Seen, owners: set[str], rules: RuleSet) -> Seen | None:
    """Return a line without what the given marks, and the given entries' signatures of kernel records, match."""
    left = tuple(
        match
        for match in seen.matches
        if (pattern := rules.patterns[match.pattern]).owner not in owners
        or (pattern.target == "signature" and pattern.where != "kernel")
    )
    if len(left) == len(seen.matches):
        return seen
    return structs.replace(seen, matches=left) if left else None
