"""Reading the catalog on the terminal: one entry, lists, checklists."""

from __future__ import annotations

from denpex_kb.api import KnowledgeBase
from denpex_kb.cli.console import Colour, Format, out, paper
from denpex_kb.errors import UnknownEntryError, UsageError
from denpex_kb.model.entry import Entry, Summary
from denpex_kb.render import entries as pages
from denpex_kb.render.json import entry_list, to_json


def show_entry(kb: KnowledgeBase, wanted: str, form: Format, colour: Colour) -> None:
    """Print one entry, or a list where `wanted` begins several ids.

    Raises:
        UnknownEntryError: no entry is called so or begins so.
    """
    try:
        entry = kb.entry(wanted)
    except UnknownEntryError:
        matching = [item for item in kb.entries() if item.id.startswith(wanted)]
        if not matching:
            raise
        if len(matching) > 1:
            out(_listed(matching, form, colour))
            return
        entry = kb.entry(matching[0].id)
    out(_entry(entry, form, colour))


def _entry(entry: Entry, form: Format, colour: Colour) -> str:
    if form is Format.JSON:
        return to_json(entry)
    if form is Format.MARKDOWN:
        return pages.entry_markdown(entry)
    return pages.entry_text(entry, paper(colour))


def list_entries(kb: KnowledgeBase, filters: dict[str, str], form: Format, colour: Colour) -> None:
    """Print the entries that pass every filter.

    Raises:
        UsageError: a filter names something that no entry has.
    """
    entries = kb.entries()
    for field, value in filters.items():
        known = sorted({item for entry in entries for item in _values(entry, field)})
        if value not in known:
            raise UsageError(f"no entry has the {field} {value!r}; there are: {', '.join(known)}")
    chosen = [entry for entry in entries if all(value in _values(entry, field) for field, value in filters.items())]
    out(_listed(chosen, form, colour))


def _listed(entries: list[Summary], form: Format, colour: Colour) -> str:
    if form is Format.JSON:
        return entry_list(entries)
    if form is Format.MARKDOWN:
        return pages.list_markdown(entries)
    return pages.list_text(entries, paper(colour))


def _values(entry: Summary, field: str) -> tuple[str, ...]:
    if field == "tag":
        return entry.tags
    if field == "framework":
        return entry.frameworks
    return (str(getattr(entry, field)),)
