"""A question, its possible answers, and what is told by each."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from denpex_kb.chat.belief import Chances, shift_of
from denpex_kb.chat.missing import Missing
from denpex_kb.chat.told import Fits, Passed, Sign, Signs, Stated, Told
from denpex_kb.model.facts import FactValue

_MOST_SHIFT = 1.2  # log-odds that the answer to a question of fact may move an entry at most
_MOST_SHIFT_LINES = 2.0
_MOST_SHIFT_SIGNS = 2.0
_UNSEEN = 0.5  # how much it counts that lines are not seen where only words were told


class Choice(Struct, frozen=True):
    """One possible answer: what to type, what it says, and what is then told."""

    key: str
    label: str
    value: FactValue | Sign | None = None


class Question(Struct, frozen=True):
    """A question, its possible answers, and why it is asked."""

    key: str
    kind: str  # value | version | lines | signs | paste
    text: str
    find: str
    choices: tuple[Choice, ...]
    gain: float  # bits, on average
    why: tuple[tuple[str, tuple[str, ...]], ...]  # an answer → the entries that it speaks for
    chances: tuple[Chances, ...] = ()  # of the choices, and of none of them
    fact: str = ""
    part: Missing | None = None  # what is asked for
    worded: bool = False  # nothing but words was told: the user may have no log to look into

    @property
    def several(self) -> bool:
        """Whether more than one choice may be named."""
        return self.kind == "lines"

    def answered(self, chosen: Sequence[Choice]) -> Told:
        """Return what is told by choosing these; by none of them where the list is empty."""
        if self.kind == "lines":
            lines = tuple(choice.value for choice in self.choices if isinstance(choice.value, Sign))
            seen = tuple(choice.value for choice in chosen if isinstance(choice.value, Sign))
            # a line that is seen speaks through the matcher; only "none of them" has to be told apart
            weight = _UNSEEN if self.worded else 1.0
            shift = {} if seen else shift_of(self.chances[-1], _MOST_SHIFT_LINES, weight)
            return Signs(lines, seen, shift)
        if self.kind == "signs":
            shown = tuple(choice.value for choice in self.choices if isinstance(choice.value, str))
            fits = tuple(choice.value for choice in chosen if isinstance(choice.value, str))
            answer = self.chances[self.choices.index(chosen[0])] if chosen else self.chances[-1]
            text = chosen[0].label if chosen else ""
            return Fits(self.key, shown, fits, shift_of(answer, _MOST_SHIFT_SIGNS), text)
        if not chosen:
            return Passed(self.key)
        values = tuple(choice.value for choice in chosen if isinstance(choice.value, str | int | bool))
        indices = [self.choices.index(choice) for choice in chosen]
        shift = shift_of(self.chances[indices[0]], _MOST_SHIFT) if len(indices) == 1 and self.chances else {}
        return Stated(self.fact, values, shift=shift)

    def passed(self) -> Told:
        """Return what is told by not knowing."""
        if self.kind == "signs":
            return Fits(self.key, tuple(choice.value for choice in self.choices if isinstance(choice.value, str)), ())
        if self.kind == "lines":
            return Signs(tuple(choice.value for choice in self.choices if isinstance(choice.value, Sign)), ())
        return Passed(self.key)
