"""Attempts with their rankings → one diagnosis with verdict and advice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from denpex_kb.advise.advice import advise
from denpex_kb.advise.questions import next_questions
from denpex_kb.derive.began import Began
from denpex_kb.derive.progress import RunState
from denpex_kb.derive.ranks import Ranks
from denpex_kb.derive.relations import Relation
from denpex_kb.index.open import Index
from denpex_kb.match import weights
from denpex_kb.match.logs import Ranking
from denpex_kb.model.conditions import spell
from denpex_kb.model.diagnosis import (
    Attempt,
    Diagnosis,
    EventPlace,
    Hypothesis,
    Incident,
    InputInfo,
    Near,
    Outcome,
    Scope,
    SeenValue,
    Verdict,
)
from denpex_kb.model.facts import FactSet

_OUTCOMES: dict[str, Outcome] = {
    "failed": "failed",
    "completed": "completed",
    "stalled": "stalled",
    "running": "unknown",
    "unknown": "unknown",
}


class Pieces(Struct, frozen=True):
    """What was concluded of one attempt."""

    number: int
    ranking: Ranking
    began: Began
    state: RunState
    relations: Mapping[str, Relation]
    last: bool


def assemble(pieces: Sequence[Pieces], info: InputInfo, facts: FactSet, ranks: Ranks, index: Index) -> Diagnosis:
    """Put the diagnosis together; the incident that ended the last attempt leads."""
    last = pieces[-1]
    verdict, because = _verdict(last)
    hypotheses = with_signs(last.ranking.hypotheses, index) if verdict in ("matched", "ambiguous", "stalled") else ()
    attempts = tuple(_attempt(piece, healthy_after=verdict == "healthy") for piece in pieces)
    incident = attempts[-1].incidents[0] if attempts[-1].incidents else Incident()
    diagnosis = Diagnosis(
        verdict=verdict,
        input=info,
        attempts=attempts,
        hypotheses=hypotheses,
        ruled_out=last.ranking.ruled_out,
        scope=incident.scope,
        targets=incident.targets,
        initiating=last.began.initiating if verdict != "healthy" else None,
        collateral=last.began.collateral if verdict != "healthy" else (),
        silent_ranks=last.relations["missing-reporter"].ranks if "missing-reporter" in last.relations else (),
        facts=fact_values(facts),
        nearest=_nearest(last.ranking, index) if verdict in ("unknown", "stalled") and not hypotheses else (),
        first_error=_first_error(last.began),
        because=because,
    )
    return with_advice(diagnosis, facts, index)


def with_advice(diagnosis: Diagnosis, facts: FactSet, index: Index) -> Diagnosis:
    """Add what the best hypothesis lets one say, and the question that would decide."""
    rules = {rule.id: rule for rule in index.rules.rules}
    if not diagnosis.hypotheses:
        return diagnosis
    advice = advise(index.entry(diagnosis.hypotheses[0].id), facts, index.kb)
    return structs.replace(
        diagnosis,
        action=advice.action,
        fix=advice.fix,
        verify=advice.verify,
        checklist=advice.checklist,
        next_questions=next_questions(diagnosis.hypotheses, rules, facts, index.kb),
    )


def with_signs(hypotheses: Sequence[Hypothesis], index: Index) -> tuple[Hypothesis, ...]:
    """Say of each further hypothesis what tells it from the first."""
    if not hypotheses:
        return ()
    signs = {lookalike.id: lookalike.sign for lookalike in index.entry(hypotheses[0].id).meta.lookalikes}
    return tuple(structs.replace(item, sign=signs.get(item.id, "")) for item in hypotheses)


def fact_values(facts: FactSet) -> dict[str, tuple[SeenValue, ...]]:
    """Return every known fact with its values and where each was seen."""
    values: dict[str, tuple[SeenValue, ...]] = {}
    for name in facts.names():
        seen: list[SeenValue] = []
        for value in facts.values(name):
            witnesses = [fact for fact in facts.of(name) if fact.value == value]
            ranks = tuple(sorted({fact.rank for fact in witnesses if fact.rank is not None}))
            seen.append(SeenValue(value, ranks or "all", witnesses[0].source))
        values[name] = tuple(seen)
    return values


def _verdict(last: Pieces) -> tuple[Verdict, str]:
    good = last.ranking.hypotheses
    state = last.state
    if good:
        if state.outcome == "stalled":
            return "stalled", state.why
        second = good[1] if len(good) > 1 else None
        close = (
            second is not None and good[0].confidence - second.confidence < weights.CLOSE and good[0].confidence < 0.9
        )
        return ("ambiguous" if close else "matched"), ""
    if state.outcome == "completed":
        return "healthy", f"Nothing failed: {state.why}."
    if state.outcome == "stalled":
        return "stalled", f"Progress stopped, and nothing in the input says why: {state.why}."
    if state.outcome == "failed":
        return "unknown", "Something failed, and no entry of the catalog fits it."
    return "unknown", f"No failure was recognised: {state.why}. If the job hangs, say so with --hung."


def _attempt(piece: Pieces, *, healthy_after: bool) -> Attempt:
    outcome = _OUTCOMES[piece.state.outcome]
    if not piece.last:
        outcome = "recovered" if healthy_after else "failed"
    hypotheses = piece.ranking.hypotheses
    if not hypotheses and piece.began.initiating is None:
        return Attempt(piece.number, outcome)
    scope, targets = _scope(piece)
    return Attempt(
        piece.number,
        outcome,
        (
            Incident(
                hypotheses,
                piece.began.initiating,
                piece.began.collateral,
                None,
                scope,
                targets,
                piece.ranking.ruled_out,
            ),
        ),
    )


def _scope(piece: Pieces) -> tuple[Scope, tuple[str, ...]]:
    began = piece.began.initiating
    if began is None:
        return "undetermined", ()
    if began.rank is None and len(began.ranks) > 1:
        return "all_ranks", ()
    targets = []
    if began.rank is not None:
        targets.append(f"rank {began.rank}")
    if began.host:
        targets.append(f"host {began.host}")
    kind = piece.began.event.kind if piece.began.event else ""
    if kind in ("hardware",) and began.host:
        return "node", tuple(targets)
    if kind == "scheduler":
        return "job", tuple(targets)
    return ("rank" if began.rank is not None else "undetermined"), tuple(targets)


def _nearest(ranking: Ranking, index: Index) -> tuple[Near, ...]:
    return tuple(
        Near(
            item.id,
            item.title,
            f"only weak signs: {', '.join(dict.fromkeys(piece.name for piece in item.evidence[:3])) or 'none'}",
        )
        for item in ranking.near[:3]
        if index.size
    )


def _first_error(began: Began) -> EventPlace | None:
    if began.event is None:
        return None
    line = began.event.seen.line
    return EventPlace(line.file, line.number, line.rank, line.text[:400])


def spelled(value: str | int | bool) -> str:
    """Write a fact's value as people read it."""
    return spell(value)
