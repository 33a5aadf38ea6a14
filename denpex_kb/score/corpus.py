"""Score the pipeline on labelled cases: top-1, top-3, silence, initiating rank, calibration, confusion."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from denpex_kb.api import KnowledgeBase
from denpex_kb.errors import DenpexError, InputError
from denpex_kb.model.diagnosis import Diagnosis

PARTS = ("dev", "held-out")
_Z = 1.96


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One labelled input, as `cases.jsonl` holds it; fields that scoring does not need are passed over."""

    id: str
    form: str
    input: str
    expect: tuple[str, ...]
    also_ok: tuple[str, ...] = ()
    initiating_rank: int | None = None
    family: str = ""
    difficulty: str = ""
    fails: bool = False  # of a case that expects NONE: a failure that the catalog does not know


class Outcome(msgspec.Struct, frozen=True):
    """What the pipeline made of one case."""

    id: str
    form: str
    group: str  # known | foreign | healthy
    right: bool
    in_top3: bool
    answer: str
    expected: str
    confidence: float
    rank_right: bool | None
    rank: int | None
    expected_rank: int | None
    milliseconds: float
    error: str = ""


class Rate(msgspec.Struct, frozen=True):
    """A share of right answers with its 95 % interval (Wilson)."""

    right: int
    of: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """The share, 1 where there is nothing to count."""
        return self.right / self.of if self.of else 1.0


class Score(msgspec.Struct, frozen=True):
    """The figures of one part of a corpus."""

    part: str
    cases: int
    top1: Rate
    top1_logs: Rate
    top1_questions: Rate
    top3: Rate
    silent_healthy: Rate
    foreign: Rate
    initiating: Rate
    initiating_null: Rate
    brier: float
    at_80_coverage: Rate
    outcomes: tuple[Outcome, ...]
    confusion: tuple[tuple[str, str, int], ...]


class Report(msgspec.Struct, frozen=True):
    """What `kb score --format json` prints."""

    schema: str
    parts: tuple[Score, ...]


def read_cases(folder: Path) -> list[Case]:
    """Read the cases of one part.

    Raises:
        InputError: there are none, or a line is no case.
    """
    path = folder / "cases.jsonl"
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; a corpus holds cases.jsonl and inputs/") from error
    cases: list[Case] = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                cases.append(msgspec.json.decode(line, type=Case))
            except msgspec.DecodeError as error:
                raise InputError(f"{path}:{number}: {error}") from error
    return cases


def score_part(
    kb: KnowledgeBase,
    folder: Path,
    generic: frozenset[str],
    progress: Callable[[str], None] = lambda _: None,
    forms: Sequence[str] = (),
) -> Score:
    """Run every case of one part and count.

    Args:
        kb: the knowledge base.
        folder: the part's folder.
        generic: generic entries, which are right answers where the exact entry does not exist.
        progress: told each case's id.
        forms: only these forms of input; all when empty.
    """
    known = frozenset(kb.index.ids())
    outcomes: list[Outcome] = []
    for case in read_cases(folder):
        if forms and case.form not in forms:
            continue
        progress(case.id)
        outcomes.append(_run(kb, by_todays_ids(case, kb.index.current_id), folder, known, generic))
    return _count(folder.name, outcomes)


def _run(kb: KnowledgeBase, case: Case, folder: Path, known: frozenset[str], generic: frozenset[str]) -> Outcome:
    started = time.perf_counter()
    error = ""
    diagnosis: Diagnosis | None = None
    try:
        diagnosis = kb.ask(case.input) if case.form == "query" else kb.diagnose(folder / case.input)
    except DenpexError as failure:
        error = str(failure)
    spent = (time.perf_counter() - started) * 1000
    group = group_of(case, known)
    answers = (
        [hypothesis.id for hypothesis in diagnosis.hypotheses] if diagnosis is not None and diagnosis.recognised else []
    )
    right = diagnosis is not None and is_right(diagnosis, case, group, generic)
    acceptable = {*case.expect, *case.also_ok}
    rank = diagnosis.initiating.rank if diagnosis is not None and diagnosis.initiating is not None else None
    multi = case.form in ("multirank", "log", "stacks") and group != "healthy"
    return Outcome(
        case.id,
        case.form,
        group,
        right,
        right or bool(acceptable & set(answers[:3])),
        answers[0] if answers else (diagnosis.verdict if diagnosis is not None else "error"),
        case.expect[0],
        diagnosis.hypotheses[0].confidence if diagnosis is not None and diagnosis.hypotheses else 0.0,
        (rank == case.initiating_rank) if multi else None,
        rank,
        case.initiating_rank,
        round(spent, 1),
        error,
    )


def by_todays_ids(case: Case, current: Callable[[str], str]) -> Case:
    """Name entries by their ids where a label names them by an alias."""
    return msgspec.structs.replace(
        case, expect=tuple(map(current, case.expect)), also_ok=tuple(map(current, case.also_ok))
    )


def group_of(case: Case, known: frozenset[str]) -> str:
    """Sort a case: its entry exists, nothing failed, or the catalog does not know it."""
    if case.expect[0] == "NONE":
        return "foreign" if case.fails else "healthy"
    if {*case.expect, *case.also_ok} & (known | {"STALLED"}):
        return "known"
    return "foreign"


def is_right(diagnosis: Diagnosis, case: Case, group: str, generic: frozenset[str]) -> bool:
    """Say whether an answer counts as right."""
    silent = not diagnosis.recognised
    acceptable = {*case.expect, *case.also_ok}
    if "STALLED" in acceptable and diagnosis.verdict == "stalled":
        return True
    if "NONE" in acceptable and silent:
        return True
    best = diagnosis.hypotheses[0].id if diagnosis.hypotheses and not silent else None
    if group == "foreign":
        return silent or best in generic
    return best in acceptable


def _count(part: str, outcomes: Sequence[Outcome]) -> Score:
    known = [item for item in outcomes if item.group == "known"]
    answered = sorted((item for item in known if item.confidence), key=lambda item: -item.confidence)
    confident = answered[: math.ceil(0.8 * len(known))]
    confusion = Counter((item.expected, item.answer) for item in outcomes if not item.right)
    ranked = [item for item in outcomes if item.rank_right is not None and item.expected_rank is not None]
    unranked = [item for item in outcomes if item.rank_right is not None and item.expected_rank is None]
    brier = [(item.confidence - item.right) ** 2 for item in outcomes if item.group == "known"]
    return Score(
        part,
        len(outcomes),
        rate(item.right for item in known),
        rate(item.right for item in known if item.form != "query"),
        rate(item.right for item in known if item.form == "query"),
        rate(item.in_top3 for item in known),
        rate(item.right for item in outcomes if item.group == "healthy"),
        rate(item.right for item in outcomes if item.group == "foreign"),
        rate(bool(item.rank_right) for item in ranked),
        rate(bool(item.rank_right) for item in unranked),
        round(sum(brier) / len(brier), 4) if brier else 0.0,
        rate(item.right for item in confident),
        tuple(outcomes),
        tuple((expected, answer, count) for (expected, answer), count in confusion.most_common()),
    )


def rate(verdicts: Iterable[bool]) -> Rate:
    """Count and give Wilson's interval."""
    values = list(verdicts)
    right, of = sum(values), len(values)
    if not of:
        return Rate(0, 0, 0.0, 1.0)
    share = right / of
    centre = (share + _Z**2 / (2 * of)) / (1 + _Z**2 / of)
    half = _Z * math.sqrt(share * (1 - share) / of + _Z**2 / (4 * of**2)) / (1 + _Z**2 / of)
    return Rate(right, of, round(max(0.0, centre - half), 3), round(min(1.0, centre + half), 3))


def report_text(scores: Sequence[Score], *, failures: bool = True) -> str:
    """Write the figures of all parts side by side, then every failure of the parts that may be looked at."""
    rows = [("", [f"{score.part} ({score.cases} cases)" for score in scores])]
    for label, field in (
        ("top-1, entry exists", "top1"),
        ("  logs, tracebacks, stacks", "top1_logs"),
        ("  questions", "top1_questions"),
        ("top-3, entry exists", "top3"),
        ("healthy stays silent", "silent_healthy"),
        ("no entry: unknown or generic", "foreign"),
        ("initiating rank, where one is", "initiating"),
        ("no rank named, where none is", "initiating_null"),
        ("right at 80 % coverage", "at_80_coverage"),
    ):
        rows.append((label, [_spell(getattr(score, field)) for score in scores]))
    rows.append(("Brier score", [f"{score.brier:.3f}" for score in scores]))
    width = max(len(label) for label, _ in rows) + 2
    lines = [label.ljust(width) + "".join(cell.ljust(34) for cell in cells).rstrip() for label, cells in rows]
    for score in scores:
        if failures and score.part != "held-out":
            wrong = [item for item in score.outcomes if not item.right]
            if wrong:
                lines += ["", f"{score.part}: wrong"]
            lines += [
                f"  {item.id} [{item.group}]: expected {item.expected}, got {item.answer} ({item.confidence:.2f})"
                f" {item.error}".rstrip()
                for item in wrong
            ]
            misplaced = [item for item in score.outcomes if item.rank_right is False]
            if misplaced:
                lines += ["", f"{score.part}: initiating rank wrong"]
            lines += [f"  {item.id}: expected {item.expected_rank}, got {item.rank}" for item in misplaced]
    lines += ["", "confusion (expected, answered, how often)"]
    for score in scores:
        lines += [f"  {score.part}: {expected}, {answer}, {count}" for expected, answer, count in score.confusion]
    return "\n".join(lines) + "\n"


def _spell(figure: Rate) -> str:
    if not figure.of:
        return "none"
    return f"{figure.share:6.1%} {figure.right}/{figure.of} [{figure.low:.0%}, {figure.high:.0%}]"
