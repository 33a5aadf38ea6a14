"""A redacted summary of a failed run, as Markdown, to hand to others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import structs

from denpex_kb import __version__
from denpex_kb.api import KnowledgeBase
from denpex_kb.model.diagnosis import Diagnosis
from denpex_kb.model.display import printable, printable_lines
from denpex_kb.pipeline.core import lines_before, place_of
from denpex_kb.read.files import read_chunks
from denpex_kb.render.markdown import diagnosis_markdown, fenced, quoted
from denpex_kb.report.redact import Redactor

_EXCERPT = 40  # lines before the first error


def report(kb: KnowledgeBase, paths: Sequence[Path], *, hung: bool = False) -> str:
    """Diagnose, redact, and write it all down; the last lines hold the summary.

    Raises:
        InputError: nothing can be read there.
    """
    diagnosis = kb.diagnose(list(paths), hung=hung)
    excerpt = _excerpt(diagnosis, paths)
    redactor = redactor_for(diagnosis)
    for line in excerpt:
        redactor.learn(line)
    clean = _redacted(diagnosis, redactor)
    shown = [redactor.redact(line) for line in excerpt]
    return printable_lines("\n".join(_lines(clean, shown, redactor)))


def redactor_for(diagnosis: Diagnosis) -> Redactor:
    """Return a redactor that knows the names in a diagnosis."""
    hosts = [item.host for item in (diagnosis.initiating,) if item is not None and item.host]
    hosts += [target.removeprefix("host ") for target in diagnosis.targets if target.startswith("host ")]
    redactor = Redactor(hosts)
    redactor.learn_struct(diagnosis)
    return redactor


def _redacted(diagnosis: Diagnosis, redactor: Redactor) -> Diagnosis:
    """Redact what is the user's; the catalog's own advice keeps its commands and paths."""
    clean = redactor.redact_struct(diagnosis)
    fix = diagnosis.fix
    return structs.replace(
        clean,
        action=redactor.redact_names(diagnosis.action) if diagnosis.action else None,
        fix=structs.replace(redactor.redact_names(fix), applies_because=redactor.redact(fix.applies_because))
        if fix
        else None,
        verify=redactor.redact_names(diagnosis.verify) if diagnosis.verify else None,
        checklist=tuple(map(redactor.redact_names, diagnosis.checklist)),
        next_questions=tuple(map(redactor.redact_names, diagnosis.next_questions)),
    )


def _excerpt(diagnosis: Diagnosis, paths: Sequence[Path]) -> list[str]:
    began = diagnosis.initiating
    place = diagnosis.first_error
    file = place.file if place else (began.file if began else None)
    number = place.line if place else (began.line if began else None)
    path = place_of(file, paths) if file else None
    if path is None or number is None:
        return []
    return [printable(line) for line in lines_before(read_chunks(path, []), number)[-_EXCERPT:]]


def _lines(diagnosis: Diagnosis, excerpt: Sequence[str], redactor: Redactor) -> Iterator[str]:
    yield diagnosis_markdown(diagnosis).rstrip()
    yield ""
    if diagnosis.facts:
        yield "## What is known of the run"
        yield ""
        for name, values in diagnosis.facts.items():
            said = ", ".join(quoted(str(value.value)) for value in values)
            yield f"- {name}: {said} ({quoted(values[0].from_)})"
        yield ""
    if excerpt:
        yield "## The lines before it"
        yield ""
        yield from fenced("\n".join(excerpt))
        yield ""
    yield "## What was replaced"
    yield ""
    if redactor.replaced:
        for kind, count in sorted(redactor.replaced.items()):
            marks = [mark for held, mark in redactor.marks() if held == kind]
            named = ", ".join(marks[:6]) + (", …" if len(marks) > 6 else "")
            yield f"- {kind}: {count} ({named})"
    else:
        yield "- nothing"
    yield "- names of files of code and the parts of paths below a library are kept; look through it before you send it"
    yield ""
    yield "## Summary"
    yield ""
    yield from _summary(diagnosis)


def _summary(diagnosis: Diagnosis) -> Iterator[str]:
    best = diagnosis.hypotheses[0] if diagnosis.hypotheses else None
    what = f"`{best.id}` ({best.confidence:.0%}): {best.title}" if best else diagnosis.because
    yield f"- verdict: {diagnosis.verdict}; {what}"
    began = diagnosis.initiating
    if began is not None:
        who = f"rank {began.rank}" if began.rank is not None else "no single rank"
        yield f"- began by: {who}; {quoted(began.text)}"
    if diagnosis.action is not None:
        yield f"- {'if so' if diagnosis.verdict == 'ambiguous' else 'do now'}: {diagnosis.action.text}"
    info = diagnosis.input
    size = f"{info.lines} lines in {info.files} file{'s' * (info.files != 1)}"
    ranks = f"ranks: {len(info.ranks) or 'unknown'} of {info.world_size or 'unknown'}"
    yield f"- read: {size}, {ranks}; Denpex {__version__}"
    yield ""
