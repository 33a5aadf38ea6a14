"""Known facts in place of `{fact.name}`; what is unknown stays a named placeholder."""

from __future__ import annotations

import re

from denpex_kb.model.conditions import spell
from denpex_kb.model.facts import FactSet
from denpex_kb.model.kb import Kb

_PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_-]*\.[a-z_]+|world_size|nodes|precision)\}")


class Filler:
    """Fills texts for one set of facts, and remembers what had to stay open."""

    def __init__(self, facts: FactSet, kb: Kb) -> None:
        """Take the facts and their declarations."""
        self._facts = facts
        self._declared = {fact.name: fact for fact in kb.facts}
        self.open: dict[str, str] = {}  # placeholder → how to find it

    def fill(self, text: str) -> str:
        """Fill one text."""
        return _PLACEHOLDER.sub(self._one, text)

    def value(self, value: object) -> object:
        """Fill every string of a JSON value; a string that is one placeholder takes the fact's own type."""
        if isinstance(value, str):
            whole = _PLACEHOLDER.fullmatch(value)
            known = self._facts.value(whole.group(1)) if whole else None
            return known if known is not None else self.fill(value)
        if isinstance(value, list | tuple):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {key: self.value(item) for key, item in value.items()}
        return value

    def _one(self, match: re.Match[str]) -> str:
        name = match.group(1)
        value = self._facts.value(name)
        if value is not None:
            return spell(value)
        if name not in self._declared:
            return match.group(0)
        label = "<" + self._declared[name].title.replace(" ", "-") + ">"
        self.open[label] = self._declared[name].find
        return label
