"""Signs that tell entries from those that look alike: what a person can answer where no line and no fact decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from denpex_kb.chat.belief import NONE, Belief, expected_gain
from denpex_kb.chat.question import Choice, Question
from denpex_kb.index.open import Index

_LEADING = 5  # entries whose neighbours are told from them
_MOST = 4  # signs in one question
_LEAST = 0.04  # share of the belief
# How likely a person picks a sign: the one of what they have, another one, one where it is none of these.
_OWN, _OTHER, _STRAY = 0.75, 0.06, 0.1
_READING = 0.03  # bits that each further sign costs a tired reader


def contrasts(
    belief: Belief, done: frozenset[str], index: Index, unsure: float, old: frozenset[str] = frozenset()
) -> Iterator[Question]:
    """Go through the questions that set a likely entry against those that look like it.

    Args:
        belief: how likely each entry is.
        done: the keys of what was asked.
        index: the open index.
        unsure: how likely the answer is "don't know".
        old: the entries whose sign was shown and not chosen; two questions of nearly the same signs annoy.
    """
    leading = [entry for entry in belief.best(_LEADING) if belief.of(entry) >= _LEAST and entry not in old]
    for entry in leading:
        own = {item.id: item.sign for item in index.entry(entry).meta.lookalikes}
        near = [rival for rival in belief.best(20) if rival in own and belief.of(rival) >= _LEAST]
        rivals = [rival for rival in near if rival not in old][: _MOST - 1]
        if not rivals:
            continue
        signs = {rival: own[rival] for rival in rivals}
        back = _sign_of(entry, rivals, index)
        if back:
            signs = {entry: back, **signs}
        key = "signs " + "+".join(sorted(signs))
        if key not in done and len(signs) > 1:
            yield _question(key, signs, belief, unsure)


def _sign_of(entry: str, rivals: Sequence[str], index: Index) -> str:
    """Return the sign of an entry as the likeliest of its rivals states it."""
    for rival in rivals:
        for item in index.entry(rival).meta.lookalikes:
            if item.id == entry:
                return item.sign
    return ""


def _question(key: str, signs: Mapping[str, str], belief: Belief, unsure: float) -> Question:
    chances = [{other: _picked(other, entry, signs) for other in (*belief.shares, NONE)} for entry in signs]
    none = {other: 1.0 - sum(chance[other] for chance in chances) for other in (*belief.shares, NONE)}
    gain = expected_gain(belief, [*chances, none]) * (1 - unsure) - _READING * (len(signs) - 1)
    choices = tuple(Choice(str(number), sign, entry) for number, (entry, sign) in enumerate(signs.items(), 1))
    why = tuple((choice.key, (entry,)) for choice, entry in zip(choices, signs, strict=True))
    find = "compare what you see with the Symptoms of each: " + ", ".join(f"show {entry}" for entry in signs)
    return Question(key, "signs", "Which of these fits what you see?", find, choices, gain, why, (*chances, none))


def _picked(truth: str, offered: str, signs: Mapping[str, str]) -> float:
    if truth == offered:
        return _OWN
    return _OTHER if truth in signs else _STRAY
