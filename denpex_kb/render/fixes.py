"""The fitted fix, its changes of config files and its verification, for the terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from denpex_kb.model.diagnosis import FixAdvice, VerifyAdvice
from denpex_kb.model.display import printable, printable_lines
from denpex_kb.model.entry import Entry
from denpex_kb.render.markdown import fenced
from denpex_kb.render.paper import Paper


class ShownChange(Protocol):
    """What is shown of a change of a config file."""

    @property
    def name(self) -> str:
        """The file's name."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What could not be changed, and why."""

    @property
    def doubts(self) -> tuple[str, ...]:
        """What must be known before the file may be written."""

    @property
    def changed(self) -> bool:
        """Whether the text differs."""

    def diff(self) -> str:
        """Return the change as a unified diff."""


def fix_text(
    entry: Entry,
    fix: FixAdvice,
    changes: Sequence[ShownChange],
    verify: VerifyAdvice,
    said: Sequence[str],
    paper: Paper,
) -> str:
    """Write a fitted fix for the terminal.

    Args:
        entry: the entry that it belongs to.
        fix: the fix.
        changes: what it makes of the configs at hand.
        verify: how to see that it worked.
        said: what was done, such as which file was written.
        paper: the sheet.
    """
    paper.line(entry.meta.title, "bold")
    paper.line(entry.id, "dim")
    paper.blank()
    if not fix.needed:
        paper.section("NO FIX").line(f"needed here: {fix.why_not}.", "good")
        paper.blank()
        return paper.text()
    _steps(fix, paper)
    for change in changes:
        _change(change, paper)
    for line in said:
        paper.section("DONE").line(line, "good")
    if said:
        paper.blank()
    section = paper.section("VERIFY")
    section.line(
        f"denpex verify {entry.id}" + ("" if not verify.placeholders else "  (fills in what you --set)"), "code"
    )
    section.line("Expect: " + _plain(verify.expect))
    return paper.text()


def _steps(fix: FixAdvice, paper: Paper) -> None:
    section = paper.section("FIX")
    section.line(_plain(fix.summary))
    if fix.variant and fix.variant != "Fix":
        section.line(f"{fix.variant} ({fix.applies_because})", "dim")
    for number, step in enumerate(fix.steps, 1):
        section.line(f"{number}. {_plain(step)}", hang=3)
    for snippet in fix.snippets:
        section.code(snippet.text)
    for label, how in fix.placeholders.items():
        section.line(f"{label}: find it with  {how}", "warn")
    for need in fix.needs:
        section.line(f"It {need}", "warn")
    for note in fix.notes:
        section.line(_plain(note), "dim")
    if fix.undo and not any(fix.undo in " ".join(note.split()) for note in fix.notes):
        section.line(f"Undo: {fix.undo}", "dim")
    if fix.others:
        section.line(f"Other set-ups: {'; '.join(fix.others)} (denpex show prints all)", "dim")
    paper.blank()


def _change(change: ShownChange, paper: Paper) -> None:
    section = paper.section("CHANGE")
    if not change.changed and not change.notes:
        section.line(f"{change.name}: nothing to change, it is set so already", "good")
    elif change.changed:
        section.line(change.name, "bold")
    for line in change.diff().splitlines():
        paper.raw(paper.paint(printable(line), _tone(line)))  # type: ignore[arg-type]
    for note in change.notes:
        section.line(note, "warn")
    for doubt in change.doubts:
        section.line(f"--write leaves this alone until you say: {doubt}", "warn")
    paper.blank()


def _tone(line: str) -> str:
    if line.startswith(("---", "+++")):
        return "bold"
    return {"+": "good", "-": "bad", "@": "dim"}.get(line[:1], "plain")


def fix_markdown(entry: Entry, fix: FixAdvice, changes: Sequence[ShownChange], verify: VerifyAdvice) -> str:
    """Write a fitted fix as Markdown."""
    return printable_lines("\n".join(_markdown(entry, fix, changes, verify))).rstrip() + "\n"


def _markdown(entry: Entry, fix: FixAdvice, changes: Sequence[ShownChange], verify: VerifyAdvice) -> Iterator[str]:
    yield f"# Fix: {entry.meta.title}"
    yield ""
    yield f"`{entry.id}`"
    yield ""
    if not fix.needed:
        yield f"**No fix is needed here:** {fix.why_not}."
        return
    yield fix.summary
    yield ""
    if fix.variant:
        yield f"*{fix.variant}* ({fix.applies_because})"
        yield ""
    yield from (f"{number}. {step}" for number, step in enumerate(fix.steps, 1))
    yield ""
    for snippet in fix.snippets:
        yield from fenced(snippet.text, snippet.language)
        yield ""
    yield from (f"- `{label}`: find it with `{how}`" for label, how in fix.placeholders.items())
    yield from (f"- It {need}" for need in fix.needs)
    yield ""
    yield from fix.notes
    yield ""
    for change in changes:
        if change.changed:
            yield from fenced(change.diff().rstrip("\n"), "diff")
            yield ""
        yield from (f"- {note}" for note in (*change.notes, *change.doubts))
    yield "## Verify"
    yield ""
    yield from fenced(verify.command, verify.language)
    yield ""
    yield f"Expect: {verify.expect}"


def verify_text(entry: Entry, verify: VerifyAdvice, launch: str, paper: Paper) -> str:
    """Write a verification: the code whole, as it is to be copied, and what it prints when the fix worked."""
    paper.line(f"Verify: {entry.meta.title}", "bold")
    paper.line(entry.id, "dim")
    paper.blank()
    for line in printable_lines(verify.command).split("\n"):
        paper.raw(paper.paint(line, "code"))
    paper.blank()
    if launch:
        paper.section("RUN").line(launch, "code")
    paper.section("EXPECT").line(_plain(verify.expect))
    for label, how in verify.placeholders.items():
        paper.section("OPEN").line(f"{label}: find it with  {how}", "warn")
    return paper.text()


def verify_markdown(entry: Entry, verify: VerifyAdvice) -> str:
    """Write a verification as Markdown."""
    code = "\n".join(fenced(verify.command, verify.language))
    return printable_lines(f"# Verify: {entry.meta.title}\n\n`{entry.id}`\n\n{code}\n\nExpect: {verify.expect}\n")


def _plain(markdown: str) -> str:
    return markdown.replace("`", "").replace("**", "")
