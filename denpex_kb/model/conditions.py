"""Conditions on facts: a comparison in one line, and its evaluation."""

from __future__ import annotations

import re

from msgspec import Struct

from denpex_kb.model.facts import FactSet, FactValue

_SHAPE = re.compile(r"^\s*([a-z][\w.-]*)\s*(!=|=|>=|<=|>|<|~=|==)\s*(.+?)\s*$")
_VERSION_OPERATORS = frozenset({">=", "<=", ">", "<", "~=", "=="})


class ConditionError(ValueError):
    """A condition that cannot be read; the message says what was expected."""


class Condition(Struct, frozen=True):
    """One comparison: `fact = a | b`, `fact != a`, or a PEP 440 range such as `fact >=0.13,<0.18`."""

    fact: str
    operator: str  # "=", "!=" or "in" (a version range)
    values: tuple[str, ...]

    def __str__(self) -> str:
        """Write the condition as a person would."""
        if self.operator == "in":
            return f"{self.fact} {self.values[0]}"
        return f"{self.fact} {self.operator} {' | '.join(self.values)}"


def parse_condition(text: str) -> Condition:
    """Read one comparison.

    Raises:
        ConditionError: the text is no comparison.
    """
    shape = _SHAPE.match(text)
    if shape is None:
        raise ConditionError(
            f"{text!r} is no condition; write e.g. `zero.stage = 3` or `deepspeed.version >=0.13,<0.18`"
        )
    fact, operator, rest = shape.groups()
    if operator in _VERSION_OPERATORS:
        return Condition(fact, "in", (operator + rest.replace(" ", ""),))
    values = tuple(part.strip() for part in rest.split("|"))
    if not all(values):
        raise ConditionError(f"{text!r} has an empty value")
    return Condition(fact, operator, values)


def holds(condition: Condition, facts: FactSet) -> bool | None:
    """Say whether a condition holds on these facts; None where the fact is unknown.

    A fact with several values (a set, or ranks that differ) fulfils `=` when any value fits, and `!=` when none does.
    """
    values = facts.values(condition.fact)
    if not values:
        return None
    if condition.operator == "in":
        verdicts = [version_in(str(value), condition.values[0]) for value in values]
        known = [verdict for verdict in verdicts if verdict is not None]
        return any(known) if known else None
    equal = any(spell(value) in condition.values for value in values)
    return equal if condition.operator == "=" else not equal


def spell(value: FactValue) -> str:
    """Write a fact's value as conditions spell it (`true`, `3`, `hang`)."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def version_in(version: str, specifier: str) -> bool | None:
    """Say whether a version lies in a PEP 440 range; None where the version cannot be read."""
    from packaging.specifiers import SpecifierSet  # costs 15 ms and most questions name no version
    from packaging.version import InvalidVersion, Version

    try:
        return SpecifierSet(specifier).contains(Version(version), prereleases=True)
    except InvalidVersion:
        return None
