"""The catalog's entries as rules on a set-up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from denpex_kb.check.verdicts import Known
from denpex_kb.model.conditions import Condition, parse_condition, spell
from denpex_kb.model.entry import Entry
from denpex_kb.model.facts import Fact
from denpex_kb.model.kb import Kb

# What the versions of packages decide: where only this is unknown, the user is told what would decide.
_BY_VERSION = frozenset(["model.experts", "deepspeed.leaf_modules"])


class Rule(Struct, frozen=True):
    """One way in which a set-up shows that it will run into an entry's failure."""

    entry: Entry
    name: str
    requires: tuple[Condition, ...]
    excludes: tuple[Condition, ...]
    message: str
    at: str


class Met(Struct, frozen=True):
    """A rule that a set-up meets, and where."""

    rule: Rule
    places: tuple[Fact, ...]
    because: tuple[Fact, ...]


class Open(Struct, frozen=True):
    """A rule of which only versions are unknown."""

    rule: Rule
    place: Fact
    needs: tuple[str, ...]


def make_rules(entries: Iterable[Entry], kb: Kb) -> list[Rule]:
    """Turn entries with a `preflight` into rules; conditions on what only a run shows are left out."""
    of_a_run = {fact.name for fact in kb.facts if fact.situation}
    rules: list[Rule] = []
    for entry in entries:
        early = entry.meta.preflight
        if early is None:
            continue
        for name, requires, excludes, message, place in _ways(entry):
            wanted = _conditions((*requires, *entry.meta.requires, *early.requires), of_a_run)
            barred = _conditions((*excludes, *entry.meta.excludes, *early.excludes), of_a_run)
            if wanted:
                said = message or early.message or entry.body.summary
                rules.append(Rule(entry, name, wanted, barred, said, place or early.at or wanted[0].fact))
    return rules


def _ways(entry: Entry) -> Iterator[tuple[str, Sequence[str], Sequence[str], str | None, str | None]]:
    early = entry.meta.preflight
    assert early is not None
    if not early.rules:
        yield "setup", (), (), None, None
    for rule in early.rules:
        yield rule.name, rule.requires, rule.excludes, rule.message, rule.at


def _conditions(texts: Iterable[str], of_a_run: set[str]) -> tuple[Condition, ...]:
    return tuple(item for item in map(parse_condition, dict.fromkeys(texts)) if item.fact not in of_a_run)


def apply(rule: Rule, known: Known) -> Met | Open | None:
    """Hold a rule against a set-up: everything it requires must be known to hold, and nothing known to exclude it."""
    if any(known.holds(item) for item in rule.excludes):
        return None
    unknown: list[Condition] = []
    for item in rule.requires:
        verdict = known.holds(item)
        if verdict is False:
            return None
        if verdict is None:
            if not (item.fact in _BY_VERSION or item.fact.endswith(".version")) or known.of(item.fact):
                return None
            unknown.append(item)
    places = _places(rule, known)
    if not places:
        return None
    if unknown:
        return Open(rule, places[0], _deciders(unknown, known))
    because = [fact for item in rule.requires for fact in _telling(item, known)[:1]]
    return Met(rule, tuple(places), tuple(because))


def _deciders(unknown: Sequence[Condition], known: Known) -> tuple[str, ...]:
    names = {item.fact for item in unknown if item.fact not in _BY_VERSION}
    if any(item.fact == "model.experts" for item in unknown):
        names.add("transformers.version")
    if any(item.fact == "deepspeed.leaf_modules" for item in unknown):
        names |= {"deepspeed.version", *(f"{fact.value}.version" for fact in known.of("trainer"))}
    return tuple(
        sorted(name for name in names if not known.of(name) and not name.startswith(("plain.", "hf-trainer.")))
    )


def _places(rule: Rule, known: Known) -> list[Fact]:
    condition = next((item for item in rule.requires if item.fact == rule.at), None)
    facts = _telling(condition, known) if condition is not None else known.of(rule.at)
    placed = [fact for fact in facts if fact.file is not None]
    several = condition is not None and condition.fact in (
        "code.shape",
        "setup.mismatch",
        "launch.shape",
        "trainer.old_name",
    )
    return placed if several else placed[:1]


def _telling(condition: Condition, known: Known) -> list[Fact]:
    facts = known.of(condition.fact)
    fitting = [fact for fact in facts if spell(fact.value) in condition.values]
    return fitting or list(facts)
