"""A restarted job has several attempts; they are told apart before anything else is concluded."""

from __future__ import annotations

from collections.abc import Iterable

from denpex_kb.model.events import Reading, Seen
from denpex_kb.model.rules import RuleSet

# Restart lines of several agents stand together; further apart than this they announce another attempt.
_SAME_RESTART_LINES = 60


def number_attempts(readings: Iterable[Reading], rules: RuleSet) -> int:
    """Number the attempt of every line, from 0; returns how many attempts there are.

    A log folder of torchrun states the attempt in its path; elsewhere each restart that a launcher announces begins
    another one.
    """
    last = 0
    for reading in readings:
        if reading.origin.attempt is not None:
            last = max(last, reading.origin.attempt)
            continue
        number, restarted_at = 0, None
        for seen in sorted((*reading.seen, *reading.progress), key=lambda seen: seen.line.number):
            if is_restart(seen, rules):
                if restarted_at is None or seen.line.number - restarted_at > _SAME_RESTART_LINES:
                    number += 1
                restarted_at = seen.line.number
                seen.line.attempt = number - 1  # the announcement still belongs to what failed
                continue
            seen.line.attempt = number
        if reading.last is not None:
            reading.last.attempt = number
        last = max(last, number)
    return last + 1


def is_restart(seen: Seen, rules: RuleSet) -> bool:
    """Say whether a line announces that the workers are started again."""
    return any(rules.patterns[match.pattern].name == "restart" for match in seen.matches if rules.patterns[match.pattern].target == "mark")
