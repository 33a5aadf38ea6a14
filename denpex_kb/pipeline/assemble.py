"""Attempts with their rankings → one diagnosis with verdict and advice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from denpex_kb.advise.nearest import nearest
from denpex_kb.derive.began import Began
from denpex_kb.derive.collectives import Relation
from denpex_kb.derive.progress import RunState
from denpex_kb.derive.ranks import Ranks
from denpex_kb.derive.scope import scope_of
from denpex_kb.index.open import Index
from denpex_kb.match import weights
from denpex_kb.match.logs import Grounds, Ranking
from denpex_kb.model.diagnosis import (
    Attempt,
    Course,
    Diagnosis,
    EventPlace,
    Incident,
    InputInfo,
    Near,
    Outcome,
    RankState,
    Verdict,
)
from denpex_kb.model.facts import FactSet
from denpex_kb.model.secrets import without_secrets
from denpex_kb.pipeline.answer import fact_values, with_advice, with_signs

_OUTCOMES: dict[str, Outcome] = {
    "failed": "failed",
    "completed": "completed",
    "stalled": "stalled",
    "running": "unknown",
    "unknown": "unknown",
}


class Piece(Struct, frozen=True):
    """What was concluded of one incident."""

    ranking: Ranking
    began: Began
    grounds: Grounds


class Pieces(Struct, frozen=True):
    """What was concluded of one attempt; the incident that broke the job stands in front."""

    number: int
    cases: tuple[Piece, ...]
    state: RunState
    relations: Mapping[str, Relation]
    states: tuple[RankState, ...]
    silent: tuple[int, ...]
    last: bool
    course: Course

    @property
    def ranking(self) -> Ranking:
        """The hypotheses of the first incident."""
        return self.cases[0].ranking

    @property
    def began(self) -> Began:
        """What began the first incident."""
        return self.cases[0].began


def assemble(pieces: Sequence[Pieces], info: InputInfo, facts: FactSet, ranks: Ranks, index: Index) -> Diagnosis:
    """Put the diagnosis together; the incident that ended the last attempt leads."""
    last = pieces[-1]
    verdict, because = _verdict(last)
    if verdict == "healthy" and len(pieces) > 1:
        because = f"The last attempt ended well, after {len(pieces) - 1} that failed: {last.state.why}."
    hypotheses = with_signs(last.ranking.hypotheses, index) if verdict in ("matched", "ambiguous", "stalled") else ()
    attempts = tuple(_attempt(piece, ranks, healthy_after=verdict == "healthy") for piece in pieces)
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
        silent_ranks=last.silent if verdict != "healthy" else (),
        ranks=last.states,
        facts=fact_values(facts),
        nearest=_nearest(last.ranking, index) if verdict in ("unknown", "stalled") and not hypotheses else (),
        first_error=_first_error(last.began),
        because=because,
    )
    return without_secrets(with_advice(diagnosis, facts, index))


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


def _attempt(piece: Pieces, ranks: Ranks, *, healthy_after: bool) -> Attempt:
    outcome = _OUTCOMES[piece.state.outcome]
    if not piece.last:
        outcome = "recovered" if healthy_after else "failed"
    incidents = []
    for case in piece.cases:
        if not case.ranking.hypotheses and case.began.initiating is None:
            continue
        scope, targets = scope_of(case.began, ranks)
        incidents.append(
            Incident(
                hypotheses=case.ranking.hypotheses,
                initiating=case.began.initiating,
                collateral=case.began.collateral,
                scope=scope,
                targets=targets,
                ruled_out=case.ranking.ruled_out,
            )
        )
    return Attempt(piece.number, outcome, tuple(incidents), piece.course)


def _nearest(ranking: Ranking, index: Index) -> tuple[Near, ...]:
    ids = [*(item.id for item in ranking.near[:4]), *(item.id for item in ranking.ruled_out[:4])]
    return nearest(ranking.near, ranking.ruled_out, {entry_id: index.entry(entry_id) for entry_id in ids})


def _first_error(began: Began) -> EventPlace | None:
    if began.event is None:
        return None
    line = began.event.seen.line
    return EventPlace(line.file, line.number, line.rank, line.text[:400])
