"""Hold diagnoses of generated logs against the truth."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from denpex_kb import KnowledgeBase
from denpex_kb.model.diagnosis import Attempt, Diagnosis, Incident
from denpex_kb.score.corpus import Rate, rate
from tests.scale.grid import play
from tests.scale.job import Setup
from tests.scale.label import Cause, Label
from tests.scale.layouts import FORMS, save
from tests.scale.parts import is_set_aside

# What is asked of a diagnosis, and what the answer is called in the report.
QUESTIONS = {
    "rank": "initiating rank, where one began it",
    "null": "no rank, where none did",
    "entry": "entry",
    "consequence": "no consequence or victim named as the cause",
    "scope": "scope",
    "incidents": "two incidents told apart",
    "attempts": "attempts, each with its cause",
    "quiet": "healthy or stalled, and said so",
}


class Result(Struct, frozen=True):
    """What became of one log."""

    setup: Setup
    label: Label
    path: str
    answers: dict[str, bool]  # by question, where it is asked
    got: str
    milliseconds: float


def top(found: Diagnosis | Incident) -> str:
    """Give the first hypothesis."""
    return found.hypotheses[0].id if found.hypotheses else ""


def rank_of(found: Diagnosis | Incident) -> int | None:
    """Give the rank that is said to have begun it."""
    return found.initiating.rank if found.initiating else None


def fits(found: Diagnosis | Incident, cause: Cause) -> bool:
    """Say whether an incident is this failure, of this rank."""
    return top(found) in cause.expect and rank_of(found) in (cause.rank, *cause.may)


def judge(diagnosis: Diagnosis, label: Label) -> dict[str, bool]:
    """Answer every question that the log asks."""
    if label.ends == "healthy":
        quiet = diagnosis.verdict == "healthy"
        return {"quiet": quiet} | ({"attempts": tells_attempts(diagnosis.attempts, label)} if label.attempts else {})
    if label.ends == "stalled":
        return {"quiet": diagnosis.verdict in ("stalled", "unknown") and not diagnosis.recognised}
    cause, rank, answer = label.cause, rank_of(diagnosis), top(diagnosis) if diagnosis.recognised else ""
    both = (cause, label.also) if label.also else (cause,)
    stalled = "STALLED" in cause.expect and diagnosis.verdict == "stalled"
    answers = {
        "rank" if cause.rank is not None else "null": any(rank == each.rank for each in both),
        "entry": stalled or any(answer in each.expect for each in both),
        "consequence": answer not in label.consequences and rank in {None, cause.rank, *label.guilty},
    }
    if label.scope:
        answers["scope"] = diagnosis.scope in label.scope
    if label.also:
        incidents = [incident for attempt in diagnosis.attempts for incident in attempt.incidents]
        answers["incidents"] = all(any(fits(incident, each) for incident in incidents) for each in both)
    if label.attempts:
        answers["attempts"] = tells_attempts(diagnosis.attempts, label)
    return answers


def tells_attempts(attempts: Sequence[Attempt], label: Label) -> bool:
    """Say whether every attempt is there, with the failure that ended it."""
    return len(attempts) == len(label.attempts) and all(
        not cause.expect or any(fits(incident, cause) for incident in attempt.incidents)
        for attempt, cause in zip(attempts, label.attempts, strict=True)
    )


def told(diagnosis: Diagnosis) -> str:
    """Spell what a diagnosis says, in a line."""
    attempts = "; ".join(
        ", ".join(f"{top(incident) or '-'} by {rank_of(incident)}" for incident in attempt.incidents) or attempt.outcome
        for attempt in diagnosis.attempts
    )
    host = f" on {diagnosis.initiating.host}" if diagnosis.initiating and diagnosis.initiating.host else ""
    return f"{diagnosis.verdict}, {top(diagnosis) or '-'} by {rank_of(diagnosis)}{host}, {diagnosis.scope} [{attempts}]"


def measure(kb: KnowledgeBase, setup: Setup, folder: Path) -> Result:
    """Write one log, diagnose it, compare."""
    job, label = play(setup)
    path = save(job, folder / setup.name)
    began = time.perf_counter()
    diagnosis = kb.diagnose(path)
    spent = (time.perf_counter() - began) * 1000
    return Result(setup, label, str(path), judge(diagnosis, label), told(diagnosis), round(spent))


def report(results: Sequence[Result], *, wrong: bool = True) -> str:
    """Write the rates of both parts; of the development part those of every kind of log, and what is wrong."""
    lines: list[str] = []
    aside = [item for item in results if is_set_aside(item.setup)]
    results = [item for item in results if not is_set_aside(item.setup)]
    for part, of in (("development", results), ("set aside", aside)):
        lines.append(f"{part}: {len(of)} logs (95 % intervals)")
        lines += [f"  {name:45} {spell(asked(of, question))}" for question, name in QUESTIONS.items()]
    groups: tuple[tuple[str, Iterable[str], Callable[[Result], str]], ...] = (
        ("scenario", sorted({item.setup.scenario for item in results}), lambda item: item.setup.scenario),
        ("launcher/layout", list(FORMS), lambda item: item.setup.form),
        ("PyTorch", sorted({item.setup.torch for item in results}), lambda item: item.setup.torch),
        ("ranks", sorted({str(item.setup.ranks) for item in results}, key=int), lambda item: str(item.setup.ranks)),
    )
    for name, values, key in groups:
        lines += ["", f"{name:42} {'logs':>5} " + " ".join(f"{question:>11}" for question in QUESTIONS)]
        for value in values:
            here = [item for item in results if key(item) == value]
            if here:
                cells = (asked(here, question) for question in QUESTIONS)
                spelt = " ".join(f"{f'{cell.right}/{cell.of}' if cell.of else '':>11}" for cell in cells)
                lines.append(f"{value:42} {len(here):5} {spelt}".rstrip())
    slow = sorted(item.milliseconds for item in results)
    lines += ["", f"median {slow[len(slow) // 2]:.0f} ms a log, slowest {slow[-1]:.0f} ms"] if slow else []
    if wrong:
        for item in results:
            missed = [question for question, right in item.answers.items() if not right]
            if missed:
                want = ", ".join(f"{'|'.join(cause.expect)} by {cause.rank}" for cause in expected(item.label))
                lines += ["", f"{', '.join(missed)}: {item.path}", f"  {item.label.what}"]
                lines += [f"  expected {item.label.ends}: {want}", f"  answered {item.got}"]
    return "\n".join(lines) + "\n"


def expected(label: Label) -> tuple[Cause, ...]:
    """List the failures of a log."""
    return label.attempts or tuple(cause for cause in (label.cause, label.also) if cause is not None)


def asked(results: Iterable[Result], question: str) -> Rate:
    """Count the right answers to a question."""
    return rate(item.answers[question] for item in results if question in item.answers)


def spell(figure: Rate) -> str:
    """Write a rate with its interval."""
    if not figure.of:
        return "not asked"
    return f"{figure.share:6.1%} {figure.right}/{figure.of} [{figure.low:.1%}, {figure.high:.1%}]"
