"""What a person states on the command line, `--set fact=value`, as facts."""

from __future__ import annotations

import re
from collections.abc import Iterable

from denpex_kb.errors import UsageError
from denpex_kb.model.conditions import spell
from denpex_kb.model.facts import Fact, FactDeclaration, FactSet, FactValue
from denpex_kb.model.families import family_of
from denpex_kb.model.kb import Kb

_SUBSTITUTION = re.compile(r"^[A-Z][A-Z0-9_]*$")
_VERSION = re.compile(r"^v?(\d+(?:\.\d+)*\S*)$")


def read_settings(texts: Iterable[str], kb: Kb) -> tuple[list[Fact], dict[str, str]]:
    """Read `fact=value` texts; a name in capitals (`MODEL_DIR=/models/x`) fills in that word of a command.

    Raises:
        UsageError: a text is no setting, or names no fact, or a value that the fact cannot have.
    """
    facts: list[Fact] = []
    words: dict[str, str] = {}
    for text in texts:
        name, sign, value = (part.strip() for part in text.partition("="))
        if not sign or not name or not value:
            raise UsageError(f"--set {text!r}: write fact=value, e.g. --set deepspeed.version=0.16.9")
        if _SUBSTITUTION.match(name):
            words[name] = value
        else:
            declaration = _declaration(name, kb)
            facts.append(Fact(declaration.name, _value(declaration, value, kb), "answer", text=text))
    return facts, words


def replace_facts(facts: FactSet, stated: Iterable[Fact]) -> FactSet:
    """Return the facts with what the user stated in place of what was read."""
    said = list(stated)
    names = {fact.name for fact in said}
    return FactSet([*said, *(fact for fact in facts if fact.name not in names)])


def _declaration(name: str, kb: Kb) -> FactDeclaration:
    short = {"model": "model.family", "family": "model.family", "stage": "zero.stage"}.get(name)
    for wanted in (name, short, f"{name}.version"):
        found = kb.fact(wanted) if wanted else None
        if found is not None:
            return found
    from rapidfuzz import process

    near = [match[0] for match in process.extract(name, [fact.name for fact in kb.facts], limit=3, score_cutoff=50)]
    raise UsageError(f"no fact {name!r}; the nearest are: {', '.join(near) or 'none'} (kb/facts lists all)")


def _value(fact: FactDeclaration, text: str, kb: Kb) -> FactValue:
    if fact.type == "bool":
        if text.lower() not in ("true", "false", "yes", "no"):
            raise UsageError(f"{fact.name} is true or false, not {text!r}")
        return text.lower() in ("true", "yes")
    if fact.type == "int":
        if not text.isdigit():
            raise UsageError(f"{fact.name} is a whole number, not {text!r}")
        return int(text)
    if fact.type == "version":
        version = _VERSION.match(text)
        if version is None:
            raise UsageError(f"{fact.name} is a version such as 1.2.3, not {text!r}")
        return version.group(1)
    if fact.name == "model.family":
        family = family_of(text, kb)  # an unknown one stays as it is
        return family.id if family else text
    if fact.values and text not in fact.values:
        raise UsageError(f"{text!r} is no value of {fact.name}; one of: {', '.join(map(spell, fact.values))}")
    return text
