"""A diagnosis on the terminal, for a tired person: what, who, why, what to do, how to check."""

from __future__ import annotations

from pathlib import PurePath

from msgspec import Struct

from denpex_kb.model.diagnosis import ActionAdvice, Collateral, Diagnosis, Evidence, Hypothesis, Initiating
from denpex_kb.model.display import one_line, spans
from denpex_kb.render.paper import Paper, Section, Tone
from denpex_kb.render.strip import write_strip

_SCREEN = 45  # lines
_MOST_CODE = 12
_MOST_SPANS = 12
_TIED = "\N{NO-BREAK SPACE}"
_MOST_VERIFY = 3
_VERDICTS: dict[str, tuple[str, Tone]] = {
    "matched": ("MATCHED", "good"),
    "ambiguous": ("AMBIGUOUS", "warn"),
    "stalled": ("STALLED", "warn"),
    "unknown": ("UNKNOWN", "warn"),
    "healthy": ("HEALTHY", "good"),
}
ACTIONS = {
    "wait": "Wait",
    "restart": "Restart",
    "exclude_nodes": "Exclude the node",
    "fix_config": "Change the configuration",
    "fix_code": "Change the code",
    "fix_environment": "Mend the environment",
    "escalate": "Escalate",
    "capture": "Find out more",
}


class _Most(Struct, frozen=True):
    """How much of each part is shown."""

    evidence: int = 4
    quoted: int = 3  # lines of the one that began it
    frames: int = 4
    steps: int = 9
    collateral: int = 3
    others: int = 3  # other entries, and set-ups with a fix of their own


_AMPLE = _Most()
_TIGHT = (  # what gives way, step by step, until the whole fits one screen
    _Most(collateral=1),
    _Most(evidence=3, frames=3, collateral=1, others=2),
    _Most(evidence=2, quoted=2, frames=2, collateral=1, others=1),
    _Most(evidence=1, quoted=2, frames=2, steps=3, collateral=1, others=1),
)


def render(diagnosis: Diagnosis, paper: Paper, *, quiet: bool = False) -> str:
    """Write the answer, on one screen if it can be; `quiet` gives the first lines only."""
    if quiet:
        _head(diagnosis, paper)
        return paper.text()
    for most in (_AMPLE, *_TIGHT):
        sheet = paper.another()
        _write(diagnosis, sheet, most)
        if sheet.used <= _SCREEN:
            break
    return sheet.text()


def _write(diagnosis: Diagnosis, paper: Paper, most: _Most) -> None:
    undecided = diagnosis.verdict == "ambiguous"
    _head(diagnosis, paper)
    _interpreted(diagnosis, paper)
    if not undecided:
        _action(diagnosis, paper)
    _began(diagnosis, paper, most)
    paper.names = _short_names(diagnosis)
    strip = write_strip(diagnosis, paper)
    _why(diagnosis, paper, most)
    _first_error(diagnosis, paper, most)
    if undecided:  # what tells the candidates apart comes before what would be done about the first of them
        _others(diagnosis, paper, most)
        _questions(diagnosis, paper)
        _action(diagnosis, paper)
    _fix(diagnosis, paper, most)
    _verify(diagnosis, paper)
    _collateral(diagnosis, paper, most.collateral - (strip and most.collateral > 1))
    _attempts(diagnosis, paper)
    if not undecided:
        _others(diagnosis, paper, most)
        _questions(diagnosis, paper)
    _read_on(diagnosis, paper)
    _notes(diagnosis, paper)


def _short_names(diagnosis: Diagnosis) -> dict[str, str]:
    """Leave the folder that all quoted files lie in out of their names; long names are replaced first."""
    best = diagnosis.hypotheses[0].evidence if diagnosis.hypotheses else ()
    places = [
        diagnosis.initiating.file if diagnosis.initiating else None,
        diagnosis.first_error.file if diagnosis.first_error else None,
        *(item.file for item in best),
        *(item.first.file for item in diagnosis.collateral),
    ]
    files = {PurePath(one_line(file)) for file in places if file is not None}
    folder = (
        next((parent for parent in min(files).parents if all(parent in file.parents for file in files)), None)
        if files
        else None
    )
    if folder is None or folder == PurePath():
        return {}
    return {str(file): str(file.relative_to(folder)) for file in sorted(files, key=lambda file: -len(str(file)))}


def render_brief(diagnosis: Diagnosis, paper: Paper) -> None:
    """Write what one needs at once: the verdict, what to do, who began it, why."""
    for part in (_head, _action, _began, _why):
        part(diagnosis, paper)


def percent(confidence: float) -> str:
    """Write a confidence as people read it."""
    return f"{round(confidence * 100)} %"


def _head(diagnosis: Diagnosis, paper: Paper) -> None:
    word, tone = _VERDICTS[diagnosis.verdict]
    best = diagnosis.hypotheses[0] if diagnosis.hypotheses else None
    title = best.title if best else diagnosis.because
    tail = f"  ({percent(best.confidence)})" if best else ""
    head = f"{word}  {title}{tail}"
    parts = [part.replace(_TIED, " ") for part in paper._wrap(one_line(head).replace(" %)", f"{_TIED}%)"), 0)]
    first = parts[0]
    paper.raw(paper.paint(first[: len(word)], tone) + paper.paint(first[len(word) :], "bold"))
    for part in parts[1:]:
        paper.raw(paper.paint(part, "bold"))
    if best:
        origin = "" if best.origin == "denpex" else f" · from {one_line(best.origin)}"
        paper.line(f"{best.id}{origin}", "dim")
        if diagnosis.because:
            paper.line(diagnosis.because, "plain")
    paper.blank()


def _interpreted(diagnosis: Diagnosis, paper: Paper) -> None:
    if diagnosis.interpreted:
        paper.section("READ AS").line(diagnosis.interpreted, "dim")
        paper.blank()


def _action(diagnosis: Diagnosis, paper: Paper) -> None:
    action = diagnosis.action
    if action is None:
        return
    section = paper.section("IF SO" if diagnosis.verdict == "ambiguous" else "DO NOW")
    restart = "" if diagnosis.verdict == "healthy" else about_restart(action)
    section.line(_plain(f"{ACTIONS[action.kind]}: {action.text}{restart}"))
    paper.blank()


def about_restart(action: ActionAdvice) -> str:
    """Say whether a restart helps, where the action's own text does not."""
    if action.restart_helps is None or "restart" in action.text.lower():
        return ""
    return " A restart helps." if action.restart_helps else " A restart alone does not help."


def _began(diagnosis: Diagnosis, paper: Paper, most: _Most = _AMPLE) -> None:
    began = diagnosis.initiating
    if began is None:
        return
    section = paper.section("BEGAN")
    where = (
        f"rank {began.rank}"
        if began.rank is not None
        else (f"ranks {spans(began.ranks, _MOST_SPANS)}" if began.ranks else "rank unknown")
    )
    host = f" on {one_line(began.host)}" if began.host else ""
    section.line(f"{where}{host}: {began.why}" if began.why else f"{where}{host}", "bold")
    if began.file is not None:
        section.line(f"{one_line(began.file)}:{began.line}", "dim")
        section.quoted(began.text, "bad", 2, most.quoted)
    if diagnosis.silent_ranks:
        silent = spans(diagnosis.silent_ranks, _MOST_SPANS)
        section.line(f"Silent: rank{'s' * (len(diagnosis.silent_ranks) > 1)} {silent}", "warn")
    paper.blank()


def _why(diagnosis: Diagnosis, paper: Paper, most: _Most = _AMPLE) -> None:
    if not diagnosis.hypotheses:
        return
    best = diagnosis.hypotheses[0]
    evidence = _telling(best.evidence)
    words = [item.text for item in best.evidence if item.what == "words"]
    if not evidence and not best.against and not words:
        return
    section = paper.section("WHY")
    if words:
        section.line("your words: " + ", ".join(words))
        evidence = [item for item in evidence if item.file is not None and item.what != "fact"]
    for item in evidence[: most.evidence]:
        _evidence(item, section, diagnosis.initiating)
    if len(evidence) > most.evidence:
        section.line(f"and {len(evidence) - most.evidence} more (--format json shows all)", "dim")
    for item in best.against:
        section.line(f"against: {item.text}", "warn")
    paper.blank()


def _telling(evidence: tuple[Evidence, ...]) -> list[Evidence]:
    return [item for item in evidence if item.what != "words"]


def _evidence(item: Evidence, section: Section, began: Initiating | None) -> None:
    rank = f" rank {item.rank}" if item.rank is not None else ""
    times = f", {item.count} times" if item.count > 1 else ""
    if item.file is not None and item.what in ("signature", "relation", "absence"):
        shown = began is not None and (item.file, item.line) == (began.file, began.line)
        above = ": the line above" if shown else ""
        section.line(f"{one_line(item.file)}:{item.line}{rank}{times}  [{item.name}]{above}", "dim")
        if not shown:
            section.clipped(item.text, "plain", 2)
    elif item.what == "fact":
        section.line(f"{item.text}  ({_place(item)})")
    else:
        section.line(item.text or item.name)


def _place(item: Evidence) -> str:
    if item.file is None:
        return "your words"
    return f"{one_line(item.file)}:{item.line}" if item.line is not None else one_line(item.file)


def _first_error(diagnosis: Diagnosis, paper: Paper, most: _Most) -> None:
    error = diagnosis.first_error
    if error is None or (diagnosis.hypotheses and diagnosis.core is None):
        return
    section = paper.section("TRACE" if diagnosis.hypotheses else "FIRST")
    if not diagnosis.hypotheses:
        rank = f" rank {error.rank}" if error.rank is not None else ""
        section.line(f"the first real error: {one_line(error.file)}:{error.line}{rank}", "dim")
        began = diagnosis.initiating
        if began is None or (began.file, began.line) != (error.file, error.line):  # else it stands above
            section.line(error.text, "bad", 2)
    if diagnosis.core is not None:
        frames = diagnosis.core.frames
        skipped = len(frames) - most.frames
        for number, frame in enumerate(frames):
            if 0 < number <= skipped:  # of a deep traceback the middle says least
                continue
            tone: Tone = "bold" if frame.own else "dim"
            section.line(f"{one_line(frame.file)}:{frame.line} in {one_line(frame.function)}", tone, 2, 2)
            if frame.code and frame.own:
                section.clipped(frame.code, "plain", 4)
        if skipped > 0:
            section.line(f"and {skipped} frame{'s' * (skipped > 1)} between (--format json shows all)", "dim", 2)
        if diagnosis.core.left_out:
            plural = "s" * (diagnosis.core.left_out > 1)
            section.line(f"and {diagnosis.core.left_out} frame{plural} of libraries", "dim", 2)
    paper.blank()


def _fix(diagnosis: Diagnosis, paper: Paper, most: _Most) -> None:
    fix = diagnosis.fix
    if fix is None:
        return
    section = paper.section("FIX")
    section.line(_plain(fix.summary))
    if fix.variant and fix.variant != "Fix":
        section.line(f"{fix.variant} ({fix.applies_because})", "dim")
    for number, step in enumerate(fix.steps[: most.steps], 1):
        section.line(f"{number}. {_plain(step)}" if len(fix.steps) > 1 else _plain(step), hang=3 * (len(fix.steps) > 1))
    if len(fix.steps) > most.steps:
        entry_id = diagnosis.hypotheses[0].id if diagnosis.hypotheses else "ID"
        section.line(f"and {len(fix.steps) - most.steps} more: denpex fix {entry_id}", "dim")
    for snippet in fix.snippets:
        section.code(snippet.text, most=_MOST_CODE)
    for label, how in fix.placeholders.items():
        section.line(f"{label}: find it with  {how}", "warn")
    for need in fix.needs:
        section.line(f"It {need}", "warn")
    for note in fix.notes[:2]:
        section.line(_plain(note), "dim")
    if fix.others:
        named = (
            "; ".join(fix.others)
            if len(fix.others) <= most.others
            else f"{'; '.join(fix.others[: most.others])} and {len(fix.others) - most.others} more"
        )
        section.line(f"Other set-ups: {named}", "dim")
    paper.blank()


def _plain(markdown: str) -> str:
    return markdown.replace("`", "").replace("**", "")


def _verify(diagnosis: Diagnosis, paper: Paper) -> None:
    if diagnosis.verify is None:
        return
    section = paper.section("VERIFY")
    section.line("Run this and expect: " + _first_sentence(_plain(diagnosis.verify.expect)))
    command, most = diagnosis.verify.command, _MOST_VERIFY
    if command.startswith("# ") and command.count("\n") >= most:
        most = 2  # a script whose first line says how to run it
    entry_id = diagnosis.hypotheses[0].id if diagnosis.hypotheses else "ID"
    section.code(command, indent=2, most=most, more=f"denpex verify {entry_id}")
    paper.blank()


def _first_sentence(text: str) -> str:
    head, stop, _ = text.partition(". ")
    return head + stop.strip()


def _collateral(diagnosis: Diagnosis, paper: Paper, most: int) -> None:
    if not diagnosis.collateral:
        return
    section = paper.section("COLLATERAL")
    for item in diagnosis.collateral[:most]:
        section.line(_folded(item), "dim")
    if len(diagnosis.collateral) > most:
        left = len(diagnosis.collateral) - most
        section.line(f"and {left} more kind{'s' * (left > 1)}", "dim")
    paper.blank()


def _folded(item: Collateral) -> str:
    who = f"rank{'s' * (len(item.ranks) > 1)} {spans(item.ranks, _MOST_SPANS)}: " if item.ranks else ""
    times = f" × {item.count}" if item.count > 1 else ""
    return f"{who}{item.event}{times}, first {one_line(item.first.file)}:{item.first.line}: {_plain(item.because)}"


def _attempts(diagnosis: Diagnosis, paper: Paper) -> None:
    if len(diagnosis.attempts) < 2:
        return
    section = paper.section("ATTEMPTS")
    for attempt in diagnosis.attempts:
        best = next((incident.hypotheses[0] for incident in attempt.incidents if incident.hypotheses), None)
        section.line(
            f"{attempt.number}: {attempt.outcome}" + (f", {best.id} ({percent(best.confidence)})" if best else "")
        )
    paper.blank()


def _others(diagnosis: Diagnosis, paper: Paper, most: _Most) -> None:
    others = [other for other in diagnosis.hypotheses[1:] if other.role != "collateral"][: most.others]
    if others:
        section = paper.section("OR ELSE")
        for other in others:
            section.line(_other(other), hang=6)
        if not diagnosis.ruled_out:
            paper.blank()
    if diagnosis.nearest:
        section = paper.section("NEAREST")
        for near in diagnosis.nearest[: most.others]:
            section.line(f"{near.id}: {near.why_not}", hang=2)
        paper.blank()
    if diagnosis.ruled_out and diagnosis.hypotheses:
        out = diagnosis.ruled_out[0]
        paper.section("NOT").line(f"{out.id}: {one_line(out.because)}", "dim", hang=2)
        paper.blank()


def _other(other: Hypothesis) -> str:
    sign = f": {_plain(other.sign)}" if other.sign else f": {other.title}"
    return f"{percent(other.confidence):>4}  {other.id}{sign}"


def _questions(diagnosis: Diagnosis, paper: Paper) -> None:
    if not diagnosis.next_questions:
        return
    question = diagnosis.next_questions[0]
    section = paper.section("DECIDES")
    section.line(f"{question.question}  Find out: {question.how_to_find}", "bold")
    if diagnosis.input.kind != "question":
        section.line('Then diagnose again with --told "what you found".', "dim")
    paper.blank()


def _read_on(diagnosis: Diagnosis, paper: Paper) -> None:
    if diagnosis.hypotheses:
        entry_id = diagnosis.hypotheses[0].id
        paper.section("MORE").line(f"denpex show {entry_id}  (also: fix, verify, checklist)", "dim")
    elif diagnosis.first_error is not None:
        paper.section("MORE").line("denpex kb new ID --hub HUB --from LOG  drafts an entry from this log", "dim")


def _notes(diagnosis: Diagnosis, paper: Paper) -> None:
    for note in diagnosis.input.notes[:6]:
        paper.section("NOTE").line(one_line(note), "warn")
    if len(diagnosis.input.notes) > 6:
        paper.section("NOTE").line(f"and {len(diagnosis.input.notes) - 6} more (--format json)", "warn")
