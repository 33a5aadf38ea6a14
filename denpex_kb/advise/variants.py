"""Which variant of a fix fits the facts, and what has to be upgraded before it."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from denpex_kb.model.conditions import Condition, holds, parse_condition, spell
from denpex_kb.model.entry import Entry, Variant
from denpex_kb.model.facts import FactSet
from denpex_kb.model.kb import Kb

_OPEN = 0.5  # what an unknown condition costs; a known one that holds gains 1
_UNMET = 0.75  # what an upgrade before the fix costs
_LATER = 1.0  # what an alternative for every set-up costs: the first variant is the one to try
_AT_HAND = 2.0  # gain where the file that the variant edits is at hand


class Upgrade(Struct, frozen=True):
    """A package that is too old for a fix."""

    package: str
    title: str
    installed: str
    wanted: str  # PEP 440

    @property
    def step(self) -> str:
        """The step, as the fix shows it first."""
        return (
            f"First upgrade {self.title}: {self.installed} is installed, and this fix needs {self.wanted}"
            f' (`pip install -U "{self.package}{self.wanted}"`).'
        )


def choose_variant(entry: Entry, facts: FactSet, edited: Collection[str] = ()) -> Variant | None:
    """Choose the variant that nothing contradicts and of whose conditions most are known to hold.

    Args:
        entry: the entry.
        facts: what is known.
        edited: kinds of config files at hand; variants that edit such a file come first.
    """
    at_hand = {edit.variant for edit in entry.meta.edits if edit.file in edited}
    best: tuple[float, Variant] | None = None
    for order, variant in enumerate(entry.body.fix.variants):
        verdicts = [holds(parse_condition(text), facts) for text in variant.when]
        if False in verdicts:
            continue
        score = verdicts.count(True) - _OPEN * verdicts.count(None)
        score -= _UNMET if unmet_needs(variant, facts) else 0.0
        score -= _LATER if order and not variant.when else 0.0
        score += _AT_HAND if variant.title in at_hand else 0.0
        if best is None or score > best[0]:
            best = (score, variant)
    return best[1] if best else None


def unmet_needs(variant: Variant, facts: FactSet) -> list[Condition]:
    """Return the needs of a variant that are known not to be met."""
    return [need for need in map(parse_condition, variant.needs) if holds(need, facts) is False]


def open_needs(variant: Variant, facts: FactSet) -> list[Condition]:
    """Return the needs of which nothing is known."""
    return [need for need in map(parse_condition, variant.needs) if holds(need, facts) is None]


def upgrades(variant: Variant, facts: FactSet, kb: Kb) -> list[Upgrade]:
    """Say which packages must be upgraded before the variant can be applied."""
    found = []
    for need in unmet_needs(variant, facts):
        framework = next((item for item in kb.frameworks if item.fact == need.fact), None)
        name = framework.id if framework else need.fact.partition(".")[0]
        found.append(
            Upgrade(
                (framework.package if framework else "") or name,
                (framework.title if framework else "") or name,
                ", ".join(map(spell, facts.values(need.fact))),
                need.values[0],
            )
        )
    return found
