"""Entries of the catalog, lists and checklists, for the terminal and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from denpex_kb.model.display import printable, printable_lines
from denpex_kb.model.entry import Entry, Summary
from denpex_kb.render.paper import Paper

_HEADING = re.compile(r"^(#{2,3}) (.*)$")


def entry_text(entry: Entry, paper: Paper) -> str:
    """Write a whole entry for the terminal."""
    meta = entry.meta
    paper.line(meta.title, "bold")
    origin = "" if entry.origin == "denpex" else f" · from {entry.origin}"
    paper.line(f"{meta.id} · {meta.hub} · {meta.phase} · {meta.kind} · {meta.severity}{origin}", "dim")
    code = False
    for line in entry.body.markdown.splitlines():
        heading = None if code else _HEADING.match(line)
        if line.startswith("```"):
            code = not code
        elif code:
            paper.raw("    " + paper.paint(printable(line), "code"))
        elif heading:
            paper.blank()
            paper.line(heading.group(2), "bold", 0 if heading.group(1) == "##" else 2)
        elif not line.strip():
            paper.blank()
        else:
            bullet = re.match(r"^\s*(?:[-*]|\d+\.) (?:\[[ x]\] )?", line)
            hang = len(bullet.group().lstrip()) if bullet else 0
            paper.line(_plain(line.strip()), "plain", 4 if bullet else 2, hang)
    paper.blank()
    paper.line("References", "bold")
    for reference in meta.references:
        paper.raw("  " + paper.paint(printable(reference.url), "link"))  # whole, so that it can be opened
        paper.line(reference.establishes, "dim", 4)
    paper.line(f"Verified: {meta.verified.how}, {meta.verified.when}: {meta.verified.what}", "dim", 2)
    return paper.text()


def entry_markdown(entry: Entry) -> str:
    """Write a whole entry as Markdown."""
    meta = entry.meta
    head = f"# {meta.title}\n\n`{meta.id}` · {meta.hub} · {meta.phase} · {meta.kind}\n\n"
    references = "\n".join(f"- <{reference.url}>: {reference.establishes}" for reference in meta.references)
    verified = f"Verified: {meta.verified.how}, {meta.verified.when}: {meta.verified.what}"
    tail = f"\n## References\n\n{references}\n\n{verified}\n"
    return printable_lines(head + entry.body.markdown + tail)


def list_text(entries: Sequence[Summary], paper: Paper) -> str:
    """Write a list of entries by hub."""
    for hub, group in groupby(entries, key=lambda entry: entry.hub):
        paper.blank()
        paper.line(hub, "bold")
        for entry in group:
            paper.line(entry.id, "code", 2)
            paper.line(f"{entry.title} ({entry.phase}, {entry.kind})", "plain", 4)
    paper.blank()
    paper.line(f"{len(entries)} entr{'y' if len(entries) == 1 else 'ies'}; denpex show ID prints one.", "dim")
    return paper.text()


def list_markdown(entries: Sequence[Summary]) -> str:
    """Write a list of entries as a Markdown table."""
    rows = [
        f"| `{entry.id}` | {_cell(entry.title)} | {entry.hub} | {entry.phase} | {entry.kind} |" for entry in entries
    ]
    return "\n".join(["| id | title | hub | phase | kind |", "|---|---|---|---|---|", *rows]) + "\n"


def _plain(markdown: str) -> str:
    return markdown.replace("**", "").replace("`", "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
