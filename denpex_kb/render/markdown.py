"""A diagnosis as Markdown, for an issue or a chat."""

from __future__ import annotations

from collections.abc import Iterator

from denpex_kb.model.diagnosis import Diagnosis, Evidence
from denpex_kb.model.display import one_line, printable_lines, spans
from denpex_kb.render.terminal import ACTIONS, about_restart, percent

_SPECIAL = str.maketrans(
    {"<": "&lt;", ">": "&gt;", "&": "&amp;", "|": "\\|", "*": "\\*", "_": "\\_", "[": "\\[", "]": "\\]"}
)


def diagnosis_markdown(diagnosis: Diagnosis) -> str:
    """Write a diagnosis as Markdown; what the input holds is quoted as code or escaped."""
    return printable_lines("\n".join(_lines(diagnosis))).rstrip() + "\n"


def escape(text: str) -> str:
    """Make a text from the input inert in Markdown."""
    return one_line(text).translate(_SPECIAL)


def quoted(text: str) -> str:
    """Quote a line of the input as a code span."""
    text = one_line(text)
    fence = "`"
    while fence in text:
        fence += "`"
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def fenced(text: str, language: str = "") -> Iterator[str]:
    """Yield a code block whose fence the code cannot close."""
    fence = "```"
    while fence in text:
        fence += "`"
    yield f"{fence}{language}"
    yield text
    yield fence


def _lines(diagnosis: Diagnosis) -> Iterator[str]:
    for part in (_head, _action, _began, _why, _core, _fix, _collateral, _others, _tail):
        yield from part(diagnosis)


def _head(diagnosis: Diagnosis) -> Iterator[str]:
    best = diagnosis.hypotheses[0] if diagnosis.hypotheses else None
    yield f"# {diagnosis.verdict.upper()}: {best.title if best else diagnosis.because}"
    yield ""
    if best:
        yield f"`{best.id}`, confidence {percent(best.confidence)}. {diagnosis.because}".rstrip()
        yield ""
    if diagnosis.interpreted:
        yield f"Read as: {escape(diagnosis.interpreted)}"
        yield ""


def _action(diagnosis: Diagnosis) -> Iterator[str]:
    action = diagnosis.action
    if action is not None:
        when = "If so" if diagnosis.verdict == "ambiguous" else "Do now"
        yield f"**{when}: {ACTIONS[action.kind]}.** {action.text}{about_restart(action)}"
        yield ""


def _why(diagnosis: Diagnosis) -> Iterator[str]:
    best = diagnosis.hypotheses[0] if diagnosis.hypotheses else None
    if best and best.evidence:
        yield "## Why"
        yield ""
        yield from (_evidence(item) for item in best.evidence)
        yield ""
    error = diagnosis.first_error
    if error is not None and not best:
        yield "## The first real error"
        yield ""
        yield f"{escape(error.file)}:{error.line}: {quoted(error.text)}"
        yield ""


def _core(diagnosis: Diagnosis) -> Iterator[str]:
    core = diagnosis.core
    if core is not None:
        yield "## Its traceback"
        yield ""
        for frame in core.frames:
            code = f": {quoted(frame.code)}" if frame.code and frame.own else ""
            yield f"- {escape(frame.file)}:{frame.line} in {escape(frame.function)}{code}"
        if core.left_out:
            yield f"- and {core.left_out} frames of libraries"
        yield ""


def _collateral(diagnosis: Diagnosis) -> Iterator[str]:
    if diagnosis.collateral:
        yield "## Collateral"
        yield ""
        for item in diagnosis.collateral:
            ranks = f"ranks {spans(item.ranks)}: " if item.ranks else ""
            yield f"- {ranks}{item.event} × {item.count}, {item.because}: {quoted(item.first.text)}"
        yield ""


def _others(diagnosis: Diagnosis) -> Iterator[str]:
    others = [other for other in diagnosis.hypotheses[1:] if other.role != "collateral"][:4]
    if others or diagnosis.nearest:
        yield "## What else it could be"
        yield ""
        yield from (f"- {percent(other.confidence)} `{other.id}`: {other.sign or other.title}" for other in others)
        yield from (f"- `{near.id}`: {escape(near.why_not)}" for near in diagnosis.nearest)
        yield ""


def _tail(diagnosis: Diagnosis) -> Iterator[str]:
    for question in diagnosis.next_questions[:1]:
        yield f"**What decides:** {question.question} Find out: {quoted(question.how_to_find)}"
        yield ""
    yield from (f"> Note: {escape(note)}" for note in diagnosis.input.notes)


def _began(diagnosis: Diagnosis) -> Iterator[str]:
    began = diagnosis.initiating
    if began is None:
        return
    who = (
        f"rank {began.rank}"
        if began.rank is not None
        else (f"ranks {spans(began.ranks)}" if began.ranks else "rank unknown")
    )
    yield "## Who began it"
    yield ""
    yield f"{who}{f' on {escape(began.host)}' if began.host else ''}: {escape(began.why)}"
    if began.file is not None:
        yield ""
        yield f"{escape(began.file)}:{began.line}: {quoted(began.text)}"
    yield ""


def _evidence(item: Evidence) -> str:
    if item.what == "words":
        return f"- your words: {escape(item.text)}"
    if not item.file and item.what != "fact":  # what a relation says of several lines, which follow
        return f"- {escape(item.text or item.name)}"
    place = f"{escape(item.file)}:{item.line}" if item.file else "your words"
    rank = f" (rank {item.rank})" if item.rank is not None else ""
    return f"- {place}{rank} [{item.name}]: {quoted(item.text or item.name)}"


def _fix(diagnosis: Diagnosis) -> Iterator[str]:
    fix = diagnosis.fix
    if fix is not None:
        yield "## Fix"
        yield ""
        yield fix.summary
        yield ""
        if fix.variant:
            yield f"*{fix.variant}* ({escape(fix.applies_because)})"
            yield ""
        yield from (f"{number}. {step}" for number, step in enumerate(fix.steps, 1))
        if fix.steps:
            yield ""
        for snippet in fix.snippets:
            yield from fenced(snippet.text, snippet.language)
            yield ""
        for label, how in fix.placeholders.items():
            yield f"{quoted(label)}: find it with {quoted(how)}"
            yield ""
        for note in fix.notes:
            yield note
            yield ""
    if diagnosis.verify is not None:
        yield "## Verify"
        yield ""
        yield from fenced(diagnosis.verify.command, diagnosis.verify.language)
        yield ""
        yield f"Expect: {diagnosis.verify.expect}"
        yield ""
