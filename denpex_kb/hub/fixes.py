"""The variants of a fix as an entry's page shows them: what fits when, what it costs, and in tabs by set-up."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from denpex_kb.hub.library import Library
from denpex_kb.hub.text import slug
from denpex_kb.model.conditions import ConditionError, parse_condition
from denpex_kb.model.entry import Variant

_COST = re.compile(r"^Cost: (.*?)(?:\s*Undo: (.*))?$", re.DOTALL)
_UNDO = re.compile(r"^Undo: (.*)$", re.DOTALL)
_LONGEST_TITLE = 28
_SET_UPS = ("trainer", "launcher")  # facts that say what a reader works with
_MOST_TABS = 6  # variants with a tab of their own; more are gathered by set-up


class ShownVariant(Struct, frozen=True):
    """A variant of the fix as shown."""

    variant: Variant
    number: int  # from 1, in the order of the entry
    when: tuple[str, ...]
    notes: tuple[str, ...]
    cost: str
    undo: str
    set_ups: tuple[str, ...]  # the trainers or launchers that it names; empty where it fits any


class Tab(Struct, frozen=True):
    """A tab, and the variants that it shows."""

    label: str
    numbers: tuple[int, ...]
    set_ups: tuple[str, ...]  # by which a reader's choice is kept from page to page


def shown_variants(variants: Sequence[Variant], library: Library) -> tuple[ShownVariant, ...]:
    """Prepare the variants of a fix."""
    return tuple(_shown(variant, number, library) for number, variant in enumerate(variants, 1))


def tabs_of(shown: Sequence[ShownVariant], library: Library) -> tuple[Tab, ...]:
    """Lay variants out in tabs: each its own, or, where they are many, by the set-ups that they name."""
    if len(shown) <= _MOST_TABS:
        return tuple(Tab(item.variant.title, (item.number,), item.set_ups) for item in shown)
    anywhere = tuple(item.number for item in shown if not item.set_ups)
    names = dict.fromkeys(name for item in shown for name in item.set_ups)
    return (
        *((Tab("Any set-up", anywhere, ()),) if anywhere else ()),
        *(
            Tab(_title(name, shown, library), tuple(item.number for item in shown if name in item.set_ups), (name,))
            for name in names
        ),
    )


def _title(name: str, shown: Sequence[ShownVariant], library: Library) -> str:
    """Return a set-up's title: the framework's, else that of the variant which is for it alone."""
    known = _framework(name, library)
    alone = [item.variant.title for item in shown if item.set_ups == (name,)]
    return known or next((title for title in alone if slug(title) == name), name)


def _framework(name: str, library: Library) -> str:
    return next((item.title for item in library.kb.frameworks if item.id == name), "")


def _shown(variant: Variant, number: int, library: Library) -> ShownVariant:
    cost = undo = ""
    notes: list[str] = []
    for note in variant.notes:
        if (match := _COST.match(note)) is not None:
            cost, undo = match.group(1).strip(), (match.group(2) or undo).strip()
        elif (match := _UNDO.match(note)) is not None:
            undo = match.group(1).strip()
        else:
            notes.append(note)
    when = tuple(_spoken(text, library) for text in variant.when)
    return ShownVariant(variant, number, when, tuple(notes), cost, undo, _set_ups(variant.when))


def _set_ups(conditions: Sequence[str]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for text in conditions:
        try:
            parsed = parse_condition(text)
        except ConditionError:
            continue
        if parsed.fact in _SET_UPS and parsed.operator == "=":
            found.update(dict.fromkeys(parsed.values))
    return tuple(found)


def _spoken(condition: str, library: Library) -> str:
    """Say a condition shortly: the values of a choice alone, versions by their framework, else the condition itself."""
    try:
        parsed = parse_condition(condition)
    except ConditionError:
        return condition
    declared = library.kb.fact(parsed.fact)
    values = " or ".join(_framework(value, library) or value for value in parsed.values)
    if parsed.operator == "in":
        return f"{library.framework(parsed.fact.removesuffix('.version')).title} {values}"
    if declared is None or (len(declared.title) > _LONGEST_TITLE and declared.type not in ("enum", "set")):
        return condition
    if declared.type in ("enum", "set"):
        return values if parsed.operator == "=" else f"not {values}"
    if declared.type == "bool":
        return declared.title if (values == "true") == (parsed.operator == "=") else f"not: {declared.title}"
    return f"{declared.title} {values}" if parsed.operator == "=" else f"{declared.title} is not {values}"
