"""Conditions held against a set-up, with care: what several files or versions state differently is unknown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from denpex_kb.model.conditions import Condition, spell, version_in
from denpex_kb.model.facts import Fact
from denpex_kb.model.kb import Kb
from denpex_kb.read.packages import Package

_BOUND = re.compile(r"\d+(?:\.\d+)*")


class Known:
    """What is known of one set-up."""

    def __init__(self, facts: Iterable[Fact], packages: Sequence[Package], kb: Kb) -> None:
        """Take the facts, and the versions that requirements allow."""
        self._kb = kb
        self._by_name: dict[str, list[Fact]] = {}
        self.allowed: dict[str, Package] = {}
        for fact in facts:
            self.add(fact)
        self._add_versions(packages)

    def _add_versions(self, packages: Sequence[Package]) -> None:
        """Take, of each package, what says most surely what will run: installed, then locked, then required."""
        for name in {package.fact for package in packages}:
            if name in self._by_name:
                continue
            of = [package for package in packages if package.fact == name]
            best = min(package.rank for package in of)
            nearest = [package for package in of if package.rank == best]
            exact = {package.exact for package in nearest if package.exact}
            for package in nearest:
                if package.exact:
                    version = package.exact.partition("+")[0]
                    text = f"{name.partition('.')[0]}=={package.exact}"
                    self.add(Fact(name, version, "config", package.file, package.line, None, text))
                    if name == "torch.version" and package.exact.endswith("+cpu"):
                        self.add(Fact("torch.build", "cpu", "config", package.file, package.line, None, text))
            if not exact and len(nearest) == 1 and nearest[0].range:
                self.allowed[name] = nearest[0]

    def add(self, fact: Fact) -> None:
        """Add one fact."""
        self._by_name.setdefault(fact.name, []).append(fact)

    def of(self, name: str) -> list[Fact]:
        """Return all observations of a fact."""
        return self._by_name.get(name, [])

    def names(self) -> list[str]:
        """Return the names of all known facts."""
        return list(self._by_name)

    def all(self) -> list[Fact]:
        """Return all observations."""
        return [fact for held in self._by_name.values() for fact in held]

    def holds(self, condition: Condition) -> bool | None:
        """Say whether a condition holds; None where that is unknown or disputed."""
        values = list(dict.fromkeys(spell(fact.value) for fact in self.of(condition.fact)))
        if not values:
            allowed = self.allowed.get(condition.fact)
            if condition.operator == "in" and allowed is not None:
                return range_in(allowed.range, condition.values[0])
            return None
        declared = self._kb.fact(condition.fact)
        if declared is not None and declared.type == "set":
            met = any(value in condition.values for value in values)
            return met if condition.operator == "=" else not met
        verdicts = {_one(value, condition) for value in values}
        return verdicts.pop() if len(verdicts) == 1 else None


def _one(value: str, condition: Condition) -> bool | None:
    if condition.operator == "in":
        return version_in(value, condition.values[0])
    return (value in condition.values) == (condition.operator == "=")


def range_in(allowed: str, wanted: str) -> bool | None:
    """Say whether all versions of one range lie in another (True), none of them (False), or some (None).

    Both ranges are looked at in and around every bound that either names, which is where they can differ.
    """
    bounds = sorted({*_BOUND.findall(allowed), *_BOUND.findall(wanted)})
    points = [
        "0",
        "99999",
        *(point for bound in bounds for point in (bound, f"{bound}.dev0", f"{bound}.0.1", f"{bound}.99999")),
    ]
    try:
        inside = [version_in(point, wanted) for point in points if version_in(point, allowed)]
    except ValueError:  # no PEP 440 range
        return None
    known = {verdict for verdict in inside if verdict is not None}
    return known.pop() if len(known) == 1 else None
