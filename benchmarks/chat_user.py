"""The user that `benchmarks/chat.py` plays: who has the whole of the output, tells the truth, and does not know all.

- Asked whether a line stands in the output, they search the whole of it, the removed lines included; what matches is
  what the entry's own pattern matches. Nothing is said of lines that nobody asks about.
- Asked for a fact, they answer what the whole output states; failing that, what their case's label says in words, and
  whether it hung, crashed or ran out of memory. Of anything else they know nothing. A trusting user knows as well what
  is true of anyone who has this failure: what its entry requires, and in which phase it comes.
- Asked to paste, they paste that part of the whole output which is asked for, whether it helps or not. A user who
  asked in words has nothing to paste.
- Asked which sign fits, they do not know. A trusting user picks the sign of what they have, and no other: that it is
  true of who has the failure is the catalog's claim.
- A fifth of all answers, drawn at random, is "don't know". They never name an entry.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from denpex_kb.chat.missing import Missing
from denpex_kb.chat.question import Question
from denpex_kb.chat.told import Sign
from denpex_kb.model.conditions import spell
from denpex_kb.model.facts import FactValue
from denpex_kb.model.rules import Rule

UNSURE = 0.2  # of the answers are "don't know"
_PASTED, _TRACEBACK = 40, 150  # lines


class Output(Struct, frozen=True):
    """One file of the run's output as the user has it, and which of its lines the conversation has."""

    lines: tuple[str, ...]
    kept: tuple[int, ...]  # indices of the lines that were handed in


class User(Struct, frozen=True):
    """What the user knows."""

    facts: Mapping[str, Sequence[str]]
    lines: frozenset[tuple[str, str]]  # signatures that match the whole output
    output: Mapping[str, Output]
    has: frozenset[str] = frozenset()  # the failures that a trusting user has, for their signs
    pastes: bool = True

    def reply(self, question: Question, chance: random.Random) -> tuple[str, bool]:
        """Answer a question; say as well whether the answer is a paste."""
        if chance.random() < UNSURE:
            return "d", False
        if question.kind == "paste":
            text = self._paste(question.part) if question.part is not None and self.pastes else ""
            return (text, True) if text.strip() else ("d", False)
        if question.kind == "lines":
            seen = [
                choice.key
                for choice in question.choices
                if isinstance(choice.value, Sign) and (choice.value.entry, choice.value.name) in self.lines
            ]
            return " ".join(seen) or "none", False
        if question.kind == "signs":
            if not self.has:
                return "d", False
            fits = [choice.key for choice in question.choices if choice.value in self.has]
            return (fits[0] if fits else "none"), False
        values = self.facts.get(question.fact)
        if not values:
            return "d", False
        if question.kind == "version":
            return values[0], False
        named = [
            choice.key for choice in question.choices if choice.value is not None and _spelt(choice.value) in values
        ]
        return (named[0] if named else "d"), False

    def _paste(self, part: Missing) -> str:
        name = self._named(part)
        if name is None:
            return ""
        output = self.output[name]
        if part.kind == "end" or part.line < 1 or part.line > len(output.kept):
            return "\n".join(_of_rank(output.lines, part.rank)[-_PASTED:])
        at = output.kept[part.line - 1]
        if part.kind == "traceback":
            return "\n".join(output.lines[at : at + _TRACEBACK])
        return "\n".join(_of_rank(output.lines[: at + 1], part.rank)[-_PASTED:])

    def _named(self, part: Missing) -> str | None:
        """Return the file that is meant: the rank's own where there is one."""
        own = [name for name in self.output if part.rank is not None and _is_of(name, part.rank)]
        if own and part.kind == "above":
            return own[0]
        return next((name for name in self.output if part.file.endswith(name) or name.endswith(part.file)), None)


def _spelt(value: object) -> str:
    return spell(value) if isinstance(value, str | int | bool) else ""


def _is_of(name: str, rank: int) -> bool:
    return bool(re.search(rf"rank[_.-]?0*{rank}(?!\d)", name))


def _of_rank(lines: Sequence[str], rank: int | None) -> list[str]:
    """Return the lines that carry the rank's mark, all of them where none does."""
    mark = re.compile(rf"\[(?:rank|default){rank}\]|^\s*{rank}:\s|\brank {rank}\b", re.IGNORECASE)
    own = [line for line in lines if mark.search(line)] if rank is not None else []
    return own or list(lines)


def true_of(rules: Iterable[Rule]) -> dict[str, list[FactValue]]:
    """Return what is true of whoever has one of these failures: by the first of them that says it."""
    known: dict[str, list[FactValue]] = {}
    for rule in rules:
        own: dict[str, list[FactValue]] = {"symptom": [rule.kind], "phase": [rule.phase]}
        for condition in rule.requires:
            if condition.operator == "=" and len(condition.values) == 1:
                own[condition.fact] = [condition.values[0]]
        for fact, values in own.items():
            known.setdefault(fact, values)
    return known
