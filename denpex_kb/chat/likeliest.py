"""What the answers of a conversation point to, put in front of what the matcher alone would say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import structs

from denpex_kb.chat.told import Fits, Told
from denpex_kb.chat.weighing import View
from denpex_kb.match.evidence import Hits
from denpex_kb.model.diagnosis import Diagnosis, Evidence, Hypothesis, Verdict
from denpex_kb.model.rules import Rule

LEAST = 0.4  # share of the belief from which on an entry is named
_AHEAD = 2.0  # times as likely as the next one
_ANSWERED = 0.66  # share from which on a line that the user sees makes it the answer
_MOST = 0.85  # confidence
_SETTLED = 0.9  # confidence of an answer that is left alone
_MOST_EVIDENCE = 6


def with_likeliest(
    diagnosis: Diagnosis, view: View, hits: Hits, confirmed: frozenset[str], rules: Mapping[str, Rule]
) -> Diagnosis:
    """Put the likeliest entry in front where it leads clearly, and say that it is not certain.

    Args:
        diagnosis: what the matcher says.
        view: how likely each entry is, answers included.
        hits: the matched lines by entry and signature.
        confirmed: the entries that a line proves which the user says they see.
        rules: all rules by id.
    """
    leading = view.belief.best(2)
    if not leading:
        return diagnosis
    first, second = leading[0], (leading[1] if len(leading) > 1 else "")
    share = view.belief.of(first)
    top = diagnosis.hypotheses[0] if diagnosis.recognised else None
    if share < LEAST or share < _AHEAD * view.belief.of(second) or (top is not None and top.id == first):
        return diagnosis
    if top is not None and _settles(rules[top.id]) and top.confidence >= _SETTLED and first not in confirmed:
        return diagnosis
    known = next((item for item in diagnosis.hypotheses if item.id == first), None)
    named = known or Hypothesis(first, view.titles[first], 0.0, rules[first].role, _evidence(first, hits))
    named = structs.replace(named, confidence=round(min(share, _MOST), 2))
    # what is named behind it cannot be more certain
    rest = tuple(
        structs.replace(item, confidence=min(item.confidence, named.confidence))
        for item in diagnosis.hypotheses
        if item.id != first
    )
    verdict: Verdict = "matched" if first in confirmed and share >= _ANSWERED else "ambiguous"
    because = "" if top is None else diagnosis.because
    return structs.replace(diagnosis, verdict=verdict, hypotheses=(named, *rest), because=because)


def with_signs_chosen(diagnosis: Diagnosis, told: Sequence[Told], file: str) -> Diagnosis:
    """Cite the signs that the user says fit.

    Args:
        diagnosis: what is said so far.
        told: what was told.
        file: what stands as the place of an answer.
    """
    chosen = [item for item in told if isinstance(item, Fits) and item.text]
    places = {item.key: place for place, item in enumerate(chosen, 1)}
    if not chosen:
        return diagnosis
    cited = tuple(
        structs.replace(
            item,
            evidence=(
                *item.evidence,
                *(_sign(fits, file, places[fits.key]) for fits in chosen if item.id in fits.chosen),
            ),
        )
        for item in diagnosis.hypotheses
    )
    return structs.replace(diagnosis, hypotheses=cited)


def _sign(fits: Fits, file: str, line: int) -> Evidence:
    return Evidence("signature", "sign", file, line, text=fits.text, strength="supporting")


def _settles(rule: Rule) -> bool:
    return rule.standing == "specific" and rule.role == "initiating"


def _evidence(entry: str, hits: Hits) -> tuple[Evidence, ...]:
    found = (
        Evidence("signature", name, seen[0].line.file, seen[0].line.number, seen[0].line.rank, text=seen[0].line.text)
        for name, seen in hits.get(entry, {}).items()
        if seen
    )
    return tuple(found)[:_MOST_EVIDENCE]
