"""Facts: named, typed observations with their origin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from msgspec import Struct

FactValue = str | int | bool
Origin = Literal["question", "log", "config", "derived", "stack", "answer", "code"]

# Only what the failed run printed or the user said may rule an entry out; a config that lies near may be another run's.
_RELIABLE: frozenset[str] = frozenset({"question", "log", "stack", "answer"})


class Fact(Struct, frozen=True):
    """One observation, e.g. `zero.stage = 3  (ds_config.json:14)`."""

    name: str
    value: FactValue
    origin: Origin
    file: str | None = None
    line: int | None = None
    rank: int | None = None
    text: str = ""
    named: bool = True  # a config that the user named counts as said by the user

    @property
    def reliable(self) -> bool:
        """Whether this fact may rule an entry out."""
        return self.origin in _RELIABLE or (self.origin == "config" and self.named) or self.origin == "derived"

    @property
    def source(self) -> str:
        """Where the fact was seen, as a person reads it."""
        if self.file is None:
            return {"question": "your question", "answer": "your answer", "derived": "derived"}.get(
                self.origin, self.origin
            )
        return f"{self.file}:{self.line}" if self.line is not None else self.file


class FactSet:
    """All facts of one input; several values of one fact stand side by side."""

    def __init__(self, facts: Iterable[Fact] = ()) -> None:
        """Collect facts; equal ones from the same place are kept once."""
        self._by_name: dict[str, list[Fact]] = {}
        self._known: set[tuple[str, FactValue, int | None, Origin]] = set()
        for fact in facts:
            self.add(fact)

    def add(self, fact: Fact) -> None:
        """Add one fact."""
        held = self._by_name.setdefault(fact.name, [])
        key = (fact.name, fact.value, fact.rank, fact.origin)
        if key not in self._known:
            self._known.add(key)
            held.append(fact)

    def values(self, name: str) -> list[FactValue]:
        """Return the distinct values of a fact, most reliable origin first."""
        distinct: list[FactValue] = []
        for fact in sorted(self._by_name.get(name, ()), key=lambda fact: not fact.reliable):
            if fact.value not in distinct:
                distinct.append(fact.value)
        return distinct

    def value(self, name: str) -> FactValue | None:
        """Return the one value of a fact; None where it is unknown or ranks differ."""
        values = self.values(name)
        return values[0] if len(values) == 1 else None

    def of(self, name: str) -> list[Fact]:
        """Return every observation of a fact."""
        return list(self._by_name.get(name, ()))

    def names(self) -> list[str]:
        """Return the names of all known facts, in the order they were learnt."""
        return list(self._by_name)

    def copy(self) -> FactSet:
        """Return an independent copy."""
        return FactSet(self)

    def __iter__(self) -> Iterator[Fact]:
        """Go through every observation."""
        for held in self._by_name.values():
            yield from held

    def __contains__(self, name: object) -> bool:
        """Say whether anything is known of a fact."""
        return name in self._by_name

    def __len__(self) -> int:
        """Count the known facts."""
        return len(self._by_name)


class FactPattern(Struct, frozen=True, forbid_unknown_fields=True):
    """A line of a log that states a fact; the first group is the value unless `value` gives it."""

    pattern: str
    example: str
    value: FactValue | None = None


Conversion = Literal["family", "count", "sign"]


class ConfigKey(Struct, frozen=True, forbid_unknown_fields=True, rename={"as_": "as"}):
    """A key of a config file that states a fact; `map` translates its values.

    The preflight reads more kinds of settings than `diagnose`: CONTRIBUTING lists them.
    """

    key: str
    file: str | None = None  # deepspeed | accelerate | model | trainer, or a kind of the preflight; None: any
    map: dict[str, FactValue] = {}
    value: FactValue | None = None  # the key's presence alone states this value
    missing: FactValue | None = None  # what it says that the key is not there (preflight, complete settings only)
    as_: Conversion | None = None  # family: a model's name; count: how many items a list names; sign: whether > 0


class CodePattern(Struct, frozen=True, forbid_unknown_fields=True, rename={"import_": "import", "as_": "as"}):
    """What a training script imports or calls, and the fact that this states; read from the syntax tree.

    Exactly one of `import` and `call`, as dotted names; `*.name` is a method of whatever object. The value is `value`,
    or the literal of an argument of the call (its keyword, or its position from 0).
    """

    import_: str | None = None
    call: str | None = None
    argument: str | int | None = None
    value: FactValue | None = None
    map: dict[str, FactValue] = {}
    as_: Conversion | None = None


class FactDeclaration(Struct, frozen=True, forbid_unknown_fields=True):
    """A fact as `kb/facts/` declares it."""

    name: str
    type: Literal["enum", "set", "bool", "int", "str", "version"]
    title: str
    question: str
    find: str
    values: tuple[str, ...] = ()
    concluded: tuple[str, ...] = ()  # values that follow from other facts, for which nobody is asked
    means: dict[str, str] = {}  # value → what it says in a sentence
    log: tuple[FactPattern, ...] = ()
    config: tuple[ConfigKey, ...] = ()
    code: tuple[CodePattern, ...] = ()
    situation: bool = False  # only a run shows it: no set-up can state it
    telling: float = (
        1.0  # how much a question's mention of it points at an entry; a set-up is mentioned with every failure
    )
