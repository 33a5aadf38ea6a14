"""The numbers of the score, in one place; all are log-odds."""

from __future__ import annotations

import math

PRIOR = {"rare": -5.0, "occasional": -4.5, "common": -4.0, "very-common": -3.6}
STRENGTH = {"decisive": 6.8, "strong": 3.4, "supporting": 0.9, "part": 0.0}
FACT_FITS = 0.8  # a required fact that is known and holds
FACT_FITS_MOST = 1.6
FACT_UNKNOWN = -0.15  # a required fact that is unknown costs little and becomes a question
FACT_DOUBTED = -2.0  # contradicted, but only by a config that happens to lie near
OVERTAKEN = -5.0  # the run went on after it
INITIATING_PLACE = 1.5  # the evidence stands where the failure began
ELSEWHERE = -1.5  # another place began it
CHILD = 2.0  # by how much a generic parent stays behind its child
EXPLAINED = -0.5  # the most for what another hypothesis explains: the event that followed, the parent
TIER = 1.0  # by how much an entry of a lower tier stays behind
MATCHED = 0.5
CLOSE_QUESTION = 0.06  # the same for questions, whose confidences lie nearer together
ANSWERED = 0.65  # how likely an answer to a question must be to stand alone
CLOSE_ANSWERS = 0.2  # two answers to a question nearer than this are told apart by a question
CLOSE = 0.12  # two hypotheses nearer than this are told apart by a question


def confidence(log_odds: float) -> float:
    """Turn log-odds into a probability."""
    return 1.0 / (1.0 + math.exp(-log_odds))
