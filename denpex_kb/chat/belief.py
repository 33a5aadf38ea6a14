"""How likely each entry is, as probabilities that add up to one, and what an answer would tell about them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from msgspec import Struct

NONE = ""  # the failure is none of those in view
Chances = Mapping[str, float]  # entry id (or NONE) → how likely it makes an answer


class Belief(Struct, frozen=True):
    """Entry id → probability; `NONE` holds what is left for everything else."""

    shares: dict[str, float]

    def of(self, entry_id: str) -> float:
        """Return the probability of one entry."""
        return self.shares.get(entry_id, 0.0)

    def best(self, most: int) -> list[str]:
        """Return the likeliest entries."""
        ids = [entry_id for entry_id in self.shares if entry_id != NONE]
        return sorted(ids, key=lambda entry_id: (-self.shares[entry_id], entry_id))[:most]


def normalised(weights: Mapping[str, float]) -> Belief:
    """Turn weights into probabilities; the weight of `NONE` is among them."""
    total = sum(weights.values()) or 1.0
    return Belief({entry_id: weight / total for entry_id, weight in weights.items()})


def entropy(shares: Sequence[float]) -> float:
    """Return the uncertainty in bits."""
    return -sum(share * math.log2(share) for share in shares if share > 0)


def expected_gain(belief: Belief, answers: Sequence[Chances]) -> float:
    """Return by how many bits an answer will on average lessen the uncertainty.

    Args:
        belief: how likely each entry is now.
        answers: for each possible answer, how likely each entry makes it; over all answers they add up to one.
    """
    before = entropy(list(belief.shares.values()))
    after = 0.0
    for answer in answers:
        joint = [share * answer.get(entry_id, 0.0) for entry_id, share in belief.shares.items()]
        likely = sum(joint)
        if likely > 0:
            after += likely * entropy([share / likely for share in joint])
    return before - after


def shift_of(answer: Chances, most: float, weight: float = 1.0) -> dict[str, float]:
    """Return how far an answer speaks for each entry, in log-odds against `NONE`, at most `most` either way.

    Args:
        answer: how likely each entry makes the answer.
        most: the limit.
        weight: how much the answer counts.
    """
    base = answer.get(NONE, 0.0) or 1e-3
    return {
        entry_id: max(-most, min(most, weight * math.log(max(chance, 1e-3) / base)))
        for entry_id, chance in answer.items()
        if entry_id != NONE
    }
