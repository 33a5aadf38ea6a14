"""Pages that list entries: hubs, phases, kinds, categories, tags, frameworks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from denpex_kb.hub.introductions import Introduction
from denpex_kb.hub.library import KINDS, Library
from denpex_kb.hub.text import plain, slug, visible
from denpex_kb.model.entry import Entry

Crumbs = tuple[tuple[str, str], ...]


class Group(Struct, frozen=True):
    """A heading and the entries under it."""

    title: str
    anchor: str
    entries: tuple[Entry, ...] = ()
    text: str = ""  # Markdown
    link: str = ""


class Cell(Struct, frozen=True):
    """A square of the map by phase."""

    title: str
    text: str
    link: str
    count: int
    kinds: tuple[tuple[str, int], ...] = ()
    group: str = ""  # the heading under which it stands, where cells have one


class Listing(Struct, frozen=True):
    """A page that lists entries."""

    path: str  # the page's folder, with a slash at its end
    title: str
    overline: str
    lead: str  # Markdown
    groups: tuple[Group, ...] = ()
    map: tuple[Cell, ...] = ()
    crumbs: Crumbs = ()
    count: int = 0
    siblings: tuple[tuple[str, str, bool], ...] = ()  # title, path, whether it is this page

    @property
    def entries(self) -> list[Entry]:
        """Every entry on the page, once."""
        return list({entry.id: entry for group in self.groups for entry in group.entries}.values())


def listings(library: Library, introductions: dict[str, Introduction]) -> Iterator[Listing]:
    """Go through every page that lists entries."""
    yield _overview("hub/", "Hubs", "By framework", [_hub_cell(library, hub) for hub in library.by_hub], library)
    for hub in library.by_hub:
        yield from _hub(library, hub, introductions.get(hub, Introduction()))
    yield from _phases(library)
    yield from _kinds(library)
    yield from _categories(library)
    yield from _frameworks(library)
    yield from _tags(library)


def _kinds_of(entries: Iterable[Entry]) -> tuple[tuple[str, int], ...]:
    return tuple(Counter(entry.meta.kind for entry in entries).most_common())


def _bars(entries: Iterable[Entry]) -> tuple[tuple[str, int], ...]:
    """Count kinds in one order on every card, so that cards can be compared."""
    counts: Counter[str] = Counter(entry.meta.kind for entry in entries)
    return tuple((kind, counts[kind]) for kind in KINDS if kind in counts)


def _hub_cell(library: Library, hub: str) -> Cell:
    declared, entries = library.hub(hub), library.by_hub[hub]
    return Cell(declared.title, declared.text, f"hub/{hub}/", len(entries), _bars(entries))


def _overview(path: str, title: str, overline: str, cells: Sequence[Cell], library: Library) -> Listing:
    return Listing(path, title, overline, "", map=tuple(cells), crumbs=((title, ""),), count=len(library.entries))


def _hub(library: Library, hub: str, introduction: Introduction) -> Iterator[Listing]:
    declared, entries = library.hub(hub), library.by_hub[hub]
    phases = library.phases_of(entries)
    path = f"hub/{hub}/"
    pages = ((f"All of {declared.title}", path), *((phase.title, f"{path}{phase.id}/") for phase, _ in phases))

    def siblings(here: str) -> tuple[tuple[str, str, bool], ...]:
        return tuple((title, page, page == here) for title, page in pages)

    yield Listing(
        path,
        declared.title,
        "",
        introduction.lead or f"{declared.text}.",
        tuple(
            Group(
                phase.title, phase.id, held, introduction.phases.get(phase.id, f"{phase.text}."), f"{path}{phase.id}/"
            )
            for phase, held in phases
        ),
        tuple(Cell(phase.title, phase.text, f"{path}#{phase.id}", len(held), _bars(held)) for phase, held in phases),
        (("Hubs", "hub/"), (declared.title, "")),
        len(entries),
    )
    for phase, held in phases:
        here = f"{path}{phase.id}/"
        yield Listing(
            here,
            f"{declared.title}: {phase.title.lower()}",
            f"{declared.title} · phase",
            introduction.phases.get(phase.id, f"{phase.text}."),
            tuple(
                Group(KINDS[kind][0], kind, tuple(entry for entry in held if entry.meta.kind == kind))
                for kind, _ in _kinds_of(held)
            ),
            crumbs=(("Hubs", "hub/"), (declared.title, path), (phase.title, "")),
            count=len(held),
            siblings=siblings(here),
        )


def _phases(library: Library) -> Iterator[Listing]:
    known = [phase.id for phase in library.kb.phases if phase.id in library.by_phase]
    known += [phase for phase in library.by_phase if phase not in known]
    cells = [
        Cell(
            library.phase(phase).title,
            library.phase(phase).text,
            f"phase/{phase}/",
            len(library.by_phase[phase]),
            _bars(library.by_phase[phase]),
        )
        for phase in known
    ]
    yield _overview("phase/", "Phases of a run", "By phase", cells, library)
    for phase in known:
        declared = library.phase(phase)
        yield _by_hub(
            library,
            f"phase/{phase}/",
            declared.title,
            "Phase",
            f"{declared.text}.",
            library.by_phase[phase],
            ("Phases", "phase/"),
        )


def _kinds(library: Library) -> Iterator[Listing]:
    cells = [
        Cell(title, text, f"kind/{kind}/", len(library.by_kind[kind]), ((kind, len(library.by_kind[kind])),))
        for kind, (title, text) in KINDS.items()
        if kind in library.by_kind
    ]
    yield _overview("kind/", "Kinds of failure", "By what one sees", cells, library)
    for kind, entries in library.by_kind.items():
        title, text = KINDS[kind]
        yield _by_hub(library, f"kind/{kind}/", title, "Kind", text, entries, ("Kinds", "kind/"))


def _categories(library: Library) -> Iterator[Listing]:
    texts = {category.id: category.text for category in library.kb.categories}
    order = [category for category in texts if category in library.by_category]
    order += [category for category in library.by_category if category not in order]
    cells = [
        Cell(
            name,
            texts.get(name, ""),
            f"category/{slug(name)}/",
            len(library.by_category[name]),
            _bars(library.by_category[name]),
        )
        for name in order
    ]
    yield _overview("category/", "Categories", "By category", cells, library)
    for name in order:
        lead = f"{texts[name]}." if texts.get(name) else ""
        yield _by_hub(
            library,
            f"category/{slug(name)}/",
            name,
            "Category",
            lead,
            library.by_category[name],
            ("Categories", "category/"),
        )


def _by_hub(
    library: Library, path: str, title: str, overline: str, lead: str, entries: Sequence[Entry], up: tuple[str, str]
) -> Listing:
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.meta.hub, []).append(entry)
    return Listing(
        path,
        title,
        overline,
        lead,
        tuple(Group(library.hub(hub).title, hub, tuple(held), link=f"hub/{hub}/") for hub, held in groups.items()),
        crumbs=(up, (title, "")),
        count=len(entries),
    )


def _frameworks(library: Library) -> Iterator[Listing]:
    names = sorted(library.by_framework, key=lambda name: (-len(library.by_framework[name]), name))
    cells = [
        Cell(
            library.framework(name).title,
            "",
            f"framework/{name}/",
            len(library.by_framework[name]),
            _bars(library.by_framework[name]),
        )
        for name in names
    ]
    yield _overview("framework/", "Frameworks and versions", "By framework version", cells, library)
    for name in names:
        groups: dict[str, list[Entry]] = {}
        for entry in library.by_framework[name]:
            for item in entry.meta.affected:
                if item.framework == name:
                    fixed = f", fixed in {item.fixed_in}" if item.fixed_in else ""
                    groups.setdefault((item.versions or "any version") + fixed, []).append(entry)
        order = sorted(groups, key=lambda versions: (versions != "any version", _version_key(versions)))
        title = library.framework(name).title
        yield Listing(
            f"framework/{name}/",
            title,
            "Framework",
            f"Failures that affect {title}, by the versions in which they occur.",
            tuple(Group(versions, _anchor(versions), _once(groups[versions])) for versions in order),
            crumbs=(("Frameworks", "framework/"), (title, "")),
            count=len(library.by_framework[name]),
        )


def _anchor(versions: str) -> str:
    """Write a range as an element's id; `>=2` and `<2` are two."""
    spelt = versions
    for sign, word in (
        (">=", "from-"),
        ("<=", "to-"),
        ("==", "is-"),
        ("!=", "not-"),
        ("~=", "like-"),
        (">", "above-"),
        ("<", "below-"),
    ):
        spelt = spelt.replace(sign, word)
    return "v-" + slug(spelt)


def _once(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    return tuple({entry.id: entry for entry in entries}.values())


def _version_key(versions: str) -> list[int]:
    digits = "".join(character if character.isdigit() else " " for character in versions)
    return [int(part) for part in digits.split()[:4]]


def _tags(library: Library) -> Iterator[Listing]:
    shared = {tag: entries for tag, entries in library.by_tag.items() if len(entries) > 1}
    cells = []
    for tag, entries in library.by_tag.items():
        link = f"tag/{tag}/" if tag in shared else f"e/{entries[0].id}/"
        cells.append(Cell(tag, "", link, len(entries), group=tag[0].upper() if tag[0].isalpha() else "0–9"))
    yield Listing(
        "tag/",
        "Tags",
        "By tag",
        "A tag with a single entry leads straight to it.",
        tuple(Group(name, f"letter-{slug(name)}") for name in dict.fromkeys(cell.group for cell in cells)),
        tuple(cells),
        crumbs=(("Tags", ""),),
        count=len(library.entries),
    )
    for tag, entries in shared.items():
        yield _by_hub(library, f"tag/{tag}/", tag, "Tag", "", entries, ("Tags", "tag/"))


def listing_markdown(listing: Listing) -> str:
    """Write a listing as Markdown."""
    parts = [f"# {listing.title}\n"]
    if listing.lead:
        parts.append(f"\n{listing.lead}\n")
    up = "../" * listing.path.count("/")
    if listing.map and not any(group.entries for group in listing.groups):
        parts.append("\n")
        parts += [
            f"- [{cell.title}]({up}{cell.link}): {cell.count}{f'. {cell.text}' if cell.text else ''}\n"
            for cell in listing.map
        ]
    for group in (group for group in listing.groups if group.entries):
        parts.append(f"\n## {group.title}\n\n")
        if group.text:
            parts.append(f"{group.text}\n\n")
        parts += [
            f"- [{entry.meta.title}]({up}e/{entry.id}/index.md) ({entry.meta.kind}): {plain(entry.body.summary)}\n"
            for entry in group.entries
        ]
    return visible("".join(parts))
