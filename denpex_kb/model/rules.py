"""What matching needs of the catalog, compact enough to load on every start."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from denpex_kb.model.conditions import Condition
from denpex_kb.model.entry import Strength, Within
from denpex_kb.model.facts import FactValue

Target = Literal["signature", "mark", "fact"]


# Counting lines of progress in the scan would cost a callback for most lines of a log; they are looked for at its end.
UNSCANNED_MARKS = frozenset({"progress", "alive"})


class ScanPattern(Struct, frozen=True, array_like=True):
    """One pattern of the scan, and what a match of it states."""

    pattern: str
    unless: str | None
    where: str
    target: Target
    owner: str  # entry id, mark id or fact name
    name: str  # signature name, mark kind or ""
    value: FactValue | None = None
    gives: tuple[str, ...] = ()


class RuleSignature(Struct, frozen=True, array_like=True):
    """A signature without its pattern, which the scan has already matched."""

    name: str
    strength: Strength
    body: Literal["pattern", "fact", "relation", "all_of", "any_of", "sequence"]
    members: tuple[str, ...]
    forbidden: tuple[str, ...]
    within: Within
    condition: Condition | None
    relation: str | None


class Rule(Struct, frozen=True, array_like=True):
    """An entry as the matcher sees it."""

    id: str
    title: str
    hub: str
    phase: str
    kind: str
    role: str
    standing: str
    frequency: str
    parent: str | None
    signatures: tuple[RuleSignature, ...]
    requires: tuple[Condition, ...]
    excludes: tuple[Condition, ...]
    origin: str


class RuleSet(Struct, frozen=True):
    """Every rule and every pattern of the scan; a pattern's index is its id in the database."""

    rules: tuple[Rule, ...]
    patterns: tuple[ScanPattern, ...]

    @property
    def generic(self) -> frozenset[str]:
        """The entries that only say what kind of thing happened."""
        return frozenset(rule.id for rule in self.rules if rule.standing != "specific")
