"""What an entry's page shows, put together for its template."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup
from msgspec import Struct

from denpex_kb.hub.config import SiteConfig
from denpex_kb.hub.diagrams import draw, read_diagram
from denpex_kb.hub.fixes import ShownVariant, Tab, shown_variants, tabs_of
from denpex_kb.hub.library import Library
from denpex_kb.hub.references import ShownReference, shown_reference
from denpex_kb.hub.samples import SampleFile
from denpex_kb.hub.structured import structured_data
from denpex_kb.hub.text import clipped, plain
from denpex_kb.model.entry import ChecklistItem, Entry
from denpex_kb.render.entries import entry_markdown

_HOW = {
    "reproduced": "reproduced",
    "source": "read in the source",
    "maintainer": "established by a maintainer",
    "reported": "reported by users",
}
_ITEM = re.compile(r"^\s*[-*] +\*\*([a-z0-9-]+)\*\*:? *(.*)$", re.MULTILINE)


class Box(Struct, frozen=True):
    """A box of the checklist as shown: what to look for, and the command apart."""

    text: str
    command: str | None


class LookAlike(Struct, frozen=True):
    """A row of the table of look-alikes."""

    id: str
    title: str  # empty where the catalog has no such entry
    kind: str
    sign: str


class VersionRange(Struct, frozen=True):
    """A row of the table of affected versions."""

    framework: str
    title: str
    versions: str
    fixed_in: str
    note: str


class EntryView(Struct, frozen=True):
    """An entry, ready for its template."""

    entry: Entry
    answer: str
    description: str
    hub_title: str
    phase_title: str
    kind_title: str
    versions: tuple[VersionRange, ...]
    verified_how: str
    variants: tuple[ShownVariant, ...]
    tabs: tuple[Tab, ...]
    boxes: tuple[Box, ...]
    lookalikes: tuple[LookAlike, ...]
    diagram: Markup | None
    caption: str
    sample: tuple[SampleFile, ...]
    references: tuple[ShownReference, ...]
    messages: tuple[str, ...]
    before: Entry | None
    after: Entry | None
    children: tuple[Entry, ...]
    parent: Entry | None
    edit_url: str
    report_url: str
    structured: tuple[dict[str, object], ...]


def entry_view(entry: Entry, library: Library, config: SiteConfig, sample: Sequence[SampleFile]) -> EntryView:
    """Put together what an entry's page shows."""
    meta, body = entry.meta, entry.body
    before, after = library.neighbours[entry.id]
    diagram = None
    try:
        diagram = read_diagram(meta.diagram)
    except ValueError:  # `kb check` says what is wrong; a page without its drawing is still a page
        diagram = None
    description = clipped(plain(body.summary), 300)
    variants = shown_variants(body.fix.variants, library)
    return EntryView(
        entry=entry,
        answer=meta.action.text,
        description=description,
        hub_title=library.hub(meta.hub).title,
        phase_title=library.phase(meta.phase).title,
        kind_title=meta.kind.replace("-", " "),
        versions=tuple(
            VersionRange(
                item.framework,
                library.framework(item.framework).title,
                item.versions or "",
                item.fixed_in or "",
                item.note or "",
            )
            for item in meta.affected
        ),
        verified_how=_HOW[meta.verified.how],
        variants=variants,
        tabs=tabs_of(variants, library),
        boxes=tuple(map(_box, body.checklist)),
        lookalikes=tuple(_lookalikes(entry, library)),
        diagram=draw(diagram, "dg") if diagram else None,
        caption=diagram.caption if diagram else "",
        sample=tuple(sample),
        references=tuple(map(shown_reference, meta.references)),
        messages=tuple(_messages(entry)),
        before=before,
        after=after,
        children=library.children.get(entry.id, ()),
        parent=library.by_id.get(meta.specialises or ""),
        edit_url=edit_url(entry, library, config),
        report_url=f"{config.repository}/issues/new?title={meta.id}" if config.repository else "",
        structured=structured_data(entry, library, config, description),
    )


def markdown_page(entry: Entry, config: SiteConfig) -> str:
    """Return the page as Markdown, with where it comes from."""
    address = f"{config.base}/e/{entry.id}/" if config.base else f"e/{entry.id}/"
    return entry_markdown(entry) + f"\nPage: {address} · licence: {config.licence}\n"


def edit_url(entry: Entry, library: Library, config: SiteConfig) -> str:
    """Return where the entry's file can be edited; empty where that is not known or it is a private entry."""
    path: Path | None = library.files.get(entry.id)
    if not config.repository or path is None or entry.origin != "denpex":
        return ""
    folder = path.parent.name if path.parent.name == entry.meta.hub else ""
    parts = [config.repository.rstrip("/"), "edit", config.branch, config.catalog_path, folder, path.name]
    return "/".join(part for part in parts if part)


def _box(item: ChecklistItem) -> Box:
    if item.command is None:
        return Box(item.text, None)
    span = f"`{item.command}`"
    if not item.text.rstrip(" .").endswith(span):
        return Box(item.text, None)
    return Box(item.text.rstrip(" .").removesuffix(span).rstrip(" :,.") + ".", item.command)


def _lookalikes(entry: Entry, library: Library) -> list[LookAlike]:
    """Join the front matter's look-alikes with the body's, which say more of the sign."""
    said = {match.group(1): match.group(2) for match in _ITEM.finditer(entry.body.if_not)}
    ids = dict.fromkeys([*said, *(item.id for item in entry.meta.lookalikes)])
    signs = {item.id: item.sign for item in entry.meta.lookalikes}
    rows = []
    for wanted in ids:
        other = library.by_id.get(library.aliases.get(wanted, wanted))
        rows.append(
            LookAlike(
                other.id if other else wanted,
                other.meta.title if other else "",
                other.meta.kind if other else "",
                signs.get(wanted) or said.get(wanted, ""),
            )
        )
    return rows


def _messages(entry: Entry) -> list[str]:
    """Return the lines that the software prints, the surest first."""
    order = {"decisive": 0, "strong": 1}
    held = [item for item in entry.meta.signatures if item.strength in order and item.examples]
    held.sort(key=lambda item: order[item.strength])
    return [item.examples[0].strip() for item in held[:4]]
