"""The checks of `preflight`: rules that a set-up can meet, each with an example of either kind."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from denpex_kb.model.conditions import ConditionError, parse_condition
from denpex_kb.model.entry import Entry, Preflight
from denpex_kb.model.facts import FactDeclaration

_PLACEHOLDER = re.compile(r"\{([a-z][\w.-]*)\}")
Report = Callable[[str, str], None]  # (path within the front matter, message)
EXAMPLES = ("setup-positive-", "setup-negative-")


def check_preflight(entry: Entry, path: Path, facts: Mapping[str, FactDeclaration], report: Report) -> None:
    """Check an entry's rules for the preflight."""
    early = entry.meta.preflight
    if early is None:
        return
    names = Counter(rule_names(early))
    for name, count in names.items():
        if count > 1:
            report(".preflight", f"two rules are called {name}; names are unique within an entry")
        for kind in EXAMPLES:
            example = path.parent / entry.id / f"{kind}{name}.txt"
            if not example.is_file():
                report(".preflight", f"the rule {name} has no {entry.id}/{example.name}; see CONTRIBUTING, Preflight")
    for message in _faults(entry, early, facts):
        report(".preflight", message)


def rule_names(early: Preflight) -> list[str]:
    """Return the names of the rules; the one rule of a preflight without `rules` is called setup."""
    return [rule.name for rule in early.rules] or ["setup"]


def _faults(entry: Entry, early: Preflight, facts: Mapping[str, FactDeclaration]) -> Iterator[str]:
    for rule in early.rules or (early,):
        name = getattr(rule, "name", "setup")
        texts = (*rule.requires, *early.requires, *entry.meta.requires)
        wanted = [fact for fact in map(_fact_of, texts) if fact in facts]
        if not [fact for fact in wanted if not facts[fact].situation]:
            yield f"the rule {name} requires nothing that a set-up can state"
        own = [fact for fact in map(_fact_of, (*rule.requires, *rule.excludes)) if fact in facts]
        yield from (f"the rule {name} asks for {fact}, which only a run shows" for fact in own if facts[fact].situation)
        place = rule.at or early.at
        if place is not None and place not in wanted:
            yield f"the rule {name} shows the place of {place}, which it does not require"
        yield from (
            f"the message of the rule {name} has the placeholder {{{used}}}, which is no fact"
            for used in _PLACEHOLDER.findall(rule.message or early.message or "")
            if used not in facts
        )


def _fact_of(text: str) -> str:
    try:
        return parse_condition(text).fact
    except ConditionError:
        return ""  # said by the check of conditions
