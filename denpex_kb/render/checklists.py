"""A checklist with its answers, for the terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from denpex_kb.model.diagnosis import Box
from denpex_kb.model.display import printable, printable_lines
from denpex_kb.model.entry import Entry
from denpex_kb.render.paper import Paper

_SIGNS = {"seen": "[x]", "not seen": "[-]", "skipped": "[/]", "open": "[ ]"}


def checklist_text(entry: Entry, boxes: Sequence[Box], summary: str, paper: Paper) -> str:
    """Write a checklist; `summary` says where the hypothesis stands, empty before the first answer."""
    paper.line(f"Checklist: {entry.meta.title}", "bold")
    paper.blank()
    for number, box in enumerate(boxes, 1):
        box_text(number, box, paper)
    if summary:
        paper.blank()
        paper.line(summary, "bold")
        paper.line("[x] seen  [-] not seen  [/] skipped  [ ] open", "dim")
    return paper.text()


def box_text(number: int, box: Box, paper: Paper) -> None:
    """Write one box, its command on a line of its own so that it can be copied."""
    text = box.text
    at_end = box.command is not None and text.rstrip(" .").endswith(f"`{box.command}`")
    if at_end:
        text = text.rstrip(" .").removesuffix(f"`{box.command}`").rstrip(" :.") + "."
    head = f"{_SIGNS[box.state]} {number}. "
    paper.line(head + _plain(text), hang=len(head))
    if box.command and at_end:
        paper.raw("        " + paper.paint(printable(box.command), "code"))


def checklist_markdown(entry: Entry, boxes: Sequence[Box], summary: str) -> str:
    """Write a checklist as Markdown, as a ticket takes it."""
    said = {"not seen": " (looked for, **not seen**)", "skipped": " (skipped)"}
    lines = "\n".join(
        f"- [{'x' if box.state in ('seen', 'not seen') else ' '}] {box.text}{said.get(box.state, '')}" for box in boxes
    )
    tail = f"\n{summary}\n" if summary else ""
    return printable_lines(f"# Checklist: {entry.meta.title}\n\n`{entry.id}`\n\n{lines}\n{tail}")


def _plain(markdown: str) -> str:
    return markdown.replace("**", "").replace("`", "")
