"""What is wrong with a condition: its form, its fact, its values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from denpex_kb.model.conditions import Condition, ConditionError, parse_condition
from denpex_kb.model.facts import FactDeclaration


def condition_faults(text: str, facts: Mapping[str, FactDeclaration]) -> Iterator[str]:
    """Say what is wrong with a condition; nothing when it is right."""
    try:
        condition = parse_condition(text)
    except ConditionError as error:
        yield str(error)
        return
    fact = facts.get(condition.fact)
    if fact is None:
        yield f"unknown fact {condition.fact!r}; facts are declared in kb/facts/"
    elif condition.operator == "in":
        yield from _range_faults(condition, fact)
    else:
        yield from _value_faults(condition, fact)


def _range_faults(condition: Condition, fact: FactDeclaration) -> Iterator[str]:
    if fact.type not in {"version", "int"}:
        yield f"{condition.fact} is a {fact.type}; use `=` or `!=`"
    elif not is_specifier(condition.values[0]):
        yield f"{condition.values[0]!r} is no version range; write e.g. `>=0.13,<0.18`"


def _value_faults(condition: Condition, fact: FactDeclaration) -> Iterator[str]:
    if fact.values:
        for value in condition.values:
            if value not in fact.values:
                yield f"{value!r} is no value of {fact.name}; one of: {', '.join(fact.values)}"
    elif fact.type == "bool" and set(condition.values) - {"true", "false"}:
        yield f"{fact.name} is true or false"
    elif fact.type == "int" and not all(value.isdigit() for value in condition.values):
        yield f"{fact.name} is a whole number"


def is_specifier(text: str) -> bool:
    """Say whether a text is a PEP 440 version range."""
    try:
        SpecifierSet(text)
    except InvalidSpecifier:
        return False
    return True
