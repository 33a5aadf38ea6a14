"""Catalog → static site."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from denpex_kb.errors import CatalogError
from denpex_kb.hub import feeds, paste
from denpex_kb.hub.config import SiteConfig
from denpex_kb.hub.entrypage import entry_view, markdown_page
from denpex_kb.hub.library import FREQUENCIES, KINDS, SEVERITIES, Library
from denpex_kb.hub.listings import Listing, listing_markdown, listings
from denpex_kb.hub.messages import messages_by_letter
from denpex_kb.hub.samples import read_sample, sample_paths
from denpex_kb.hub.search import build_search, has_pagefind
from denpex_kb.hub.sources import Inputs, ParseCache, read_inputs, site_folder
from denpex_kb.hub.svg import card
from denpex_kb.hub.templates import Templates
from denpex_kb.hub.text import visible
from denpex_kb.hub.writer import Page, State, Written, digest, write_pages
from denpex_kb.index.places import cache_folder
from denpex_kb.model.entry import Entry
from denpex_kb.read.prefixes import PrefixReader

_CARD_COLOURS = {
    "hang": "#f0b429",
    "crash": "#ff7a70",
    "oom": "#c58af9",
    "slow": "#7db0ff",
    "divergence": "#4fd1b8",
    "silent-wrong": "#ff8ac0",
}
_EXAMPLE = 12 << 10  # bytes of a log to try the reader with
_MARKER = ".denpex-site"  # says that a folder was made by a build, and may be brought up to date


class Request(msgspec.Struct, frozen=True):
    """What to build, from what, to where."""

    output: Path
    kb: Path
    catalogs: tuple[Path, ...]
    config: SiteConfig
    search: bool = True


class Report(msgspec.Struct, frozen=True):
    """What a build did, and how long it took."""

    entries: int
    pages: Written
    seconds: float
    search: str
    search_seconds: float
    findings: tuple[str, ...]


class _Memory(msgspec.Struct):
    """What one build leaves for the next one."""

    cache: ParseCache
    state: State


def build_site(request: Request) -> Report:
    """Bring a site up to date.

    Raises:
        CatalogError: the catalog cannot be read, or the output is a folder of something else.
    """
    started = time.perf_counter()
    output = request.output
    _claim(output)
    memory_file = cache_folder() / f"site-{digest(str(output.resolve()))}.msgpack"
    memory = _recall(memory_file)
    inputs = read_inputs(request.kb, request.catalogs, memory.cache)
    done = write_pages(_Site(inputs, request).pages(), output, memory.state)
    memory_file.write_bytes(msgspec.msgpack.encode(memory))
    built = time.perf_counter()
    searchable = any(path.startswith("e/") and path.endswith("index.html") for path in done.paths) or done.removed > 0
    if not request.search:
        search = "search: left out"
    elif searchable or (has_pagefind() and not (output / "pagefind").exists()):
        search = build_search(output)
    else:
        search = "search: unchanged"
    return Report(
        len(inputs.library.entries),
        done,
        built - started,
        search,
        time.perf_counter() - built,
        tuple(map(str, inputs.findings)),
    )


def _claim(output: Path) -> None:
    """Take a folder for the site; one that holds something else is left alone."""
    if output.exists() and not output.is_dir():
        raise CatalogError(f"{output} is a file; give a folder for the site")
    if output.is_dir() and any(output.iterdir()) and not (output / _MARKER).is_file():
        raise CatalogError(f"{output} holds files that no build made; give an empty folder for the site")
    output.mkdir(parents=True, exist_ok=True)
    (output / _MARKER).touch()


def _recall(path: Path) -> _Memory:
    try:
        return msgspec.msgpack.decode(path.read_bytes(), type=_Memory)
    except (OSError, msgspec.DecodeError, msgspec.ValidationError):
        return _Memory(ParseCache(), State())


class _Site:
    """All pages of one build."""

    def __init__(self, inputs: Inputs, request: Request) -> None:
        self.library: Library = inputs.library
        self.introductions = inputs.introductions
        self.config = request.config
        self.searchable = request.search and has_pagefind()
        self.folder = site_folder()
        self.static = {path.name: path.read_bytes() for path in sorted((self.folder / "static").iterdir()) if path.is_file()}
        if request.config.logo:
            logo = Path(request.config.logo)
            self.static[f"logo{logo.suffix}"] = logo.read_bytes()
        self.matcher = paste.matcher_script(self.folder / "paste")
        hints = {fact.name: f"{fact.title}: {fact.find}" for fact in inputs.library.kb.facts}
        self.rules = paste.rules_json(self.library)
        self.shared = digest(inputs.shared, request.config, sorted(self.static.items()), self.matcher, self.searchable)
        assets = {name: f"{name}?v={digest(data)[:8]}" for name, data in self.static.items()}
        assets["matcher.js"] = f"matcher.js?v={digest(self.matcher)[:8]}"
        assets["rules.js"] = f"rules.js?v={digest(self.rules)[:8]}"
        self.templates = Templates(self.folder / "templates", request.config, assets, hints)
        self.prefixes = PrefixReader(self.library.kb.prefixes)
        self.sitemap: list[tuple[str, str]] = []

    def pages(self) -> Iterator[Page]:
        """Go through every file of the site."""
        yield from self._assets()
        for entry in self.library.entries:
            yield from self._entry(entry)
        for alias, target in sorted(self.library.aliases.items()):
            yield self._page(f"e/{alias}/index.html", "redirect.html", (target,), lambda t=target: {"target": t, "title": self.library.by_id[t].meta.title})
        for listing in listings(self.library, self.introductions):
            yield from self._listing(listing)
        yield from self._messages()
        yield from self._single()
        yield from self._machine()

    def _page(self, path: str, template: str, depends: tuple[Any, ...], context: Callable[[], dict[str, Any]]) -> Page:
        return Page(path, digest(self.shared, template, depends), lambda: self.templates.render(template, path, **context()))

    def _assets(self) -> Iterator[Page]:
        for name, data in self.static.items():
            yield Page(f"static/{name}", digest(data), lambda data=data: data)  # type: ignore[misc]
        yield Page("static/matcher.js", digest(self.matcher), lambda: self.matcher)
        yield Page("static/rules.js", digest(self.rules), lambda: paste.rules_script(self.rules))
        yield Page("api/rules.json", digest(self.rules), lambda: self.rules)

    def _entry(self, entry: Entry) -> Iterator[Page]:
        library = self.library
        samples = sample_paths(library.files[entry.id])
        before, after = library.neighbours[entry.id]
        related = [entry.meta.specialises, *(item.id for item in entry.meta.lookalikes)]
        related += [word.strip("*") for word in entry.body.if_not.replace(":", " ").split() if word.startswith("**")]
        known = [library.by_id.get(library.aliases.get(item or "", item or "")) for item in related]
        depends = (
            entry,
            [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in samples],
            [(other.id, other.meta.title, other.meta.kind) for other in (before, after, *known) if other],
            [(other.id, other.meta.title) for other in library.children.get(entry.id, ())],
            [tag for tag in entry.meta.tags if len(library.by_tag.get(tag, ())) > 1],
        )

        def context() -> dict[str, Any]:
            view = entry_view(entry, library, self.config, read_sample(entry, samples, self.prefixes))
            return {"view": view, "entry": entry, "shared_tags": {tag for tag, held in library.by_tag.items() if len(held) > 1}}

        path = f"e/{entry.id}/index.html"
        self.sitemap.append((f"e/{entry.id}/", entry.meta.verified.when.isoformat()))
        yield self._page(path, "entry.html", depends, context)
        yield Page(f"e/{entry.id}/index.md", digest(self.shared, entry), lambda: markdown_page(entry, self.config))
        yield Page(f"e/{entry.id}/card.svg", digest(self.shared, entry.meta.title, entry.meta.hub, entry.meta.kind), lambda: self._card(entry))

    def _card(self, entry: Entry) -> str:
        overline = f"{self.library.hub(entry.meta.hub).title} · {entry.meta.kind.replace('-', ' ')}"
        return card(entry.meta.title, overline, self.config.name, _CARD_COLOURS[entry.meta.kind])

    def _listing(self, listing: Listing) -> Iterator[Page]:
        rows = [(e.id, e.meta.title, e.meta.kind, e.meta.severity, e.meta.phase, e.meta.hub, e.body.summary) for e in listing.entries]
        depends = (
            rows,
            [(group.title, group.text, [entry.id for entry in group.entries]) for group in listing.groups],
            listing.map,
            listing.lead,
            listing.siblings,
        )
        self.sitemap.append((listing.path, ""))
        template = "tags.html" if listing.path == "tag/" else "listing.html"
        yield self._page(f"{listing.path}index.html", template, depends, lambda: {"listing": listing, "title": listing.title})
        yield Page(f"{listing.path}index.md", digest(self.shared, depends), lambda: listing_markdown(listing))

    def _messages(self) -> Iterator[Page]:
        letters = messages_by_letter(self.library, self.prefixes)
        counts = {letter: len(held) for letter, held in letters.items()}
        first = next(iter(letters), "a")
        for letter, messages in (("", letters.get(first, ())), *letters.items()):
            path = f"message/{letter}/" if letter else "message/"
            shown = letter or first
            rows = [(item.kind, item.text, item.entry.id, item.entry.meta.title, item.entry.meta.kind) for item in messages]
            name = "other signs" if shown == "0" else shown.upper()
            context = {"letters": counts, "letter": shown, "messages": messages, "title": f"Error messages: {name}"}
            self.sitemap.append((path, ""))
            yield self._page(f"{path}index.html", "messages.html", (rows, counts), lambda context=context: context)  # type: ignore[misc]
            yield Page(f"{path}index.md", digest(self.shared, rows), lambda rows=rows, name=name: _messages_markdown(rows, name))  # type: ignore[misc]

    def _single(self) -> Iterator[Page]:
        library = self.library
        rows = [(e.id, e.meta.title, e.meta.kind, e.meta.hub, e.meta.phase, e.meta.tags, e.body.summary, e.meta.severity) for e in library.entries]
        everything = digest(rows)
        facets = {
            "hub": [(hub, library.hub(hub).title) for hub in library.by_hub],
            "phase": [(phase.id, phase.title) for phase in library.kb.phases if phase.id in library.by_phase],
            "kind": [(kind, KINDS[kind][0]) for kind in KINDS if kind in library.by_kind],
            "framework": sorted(((name, library.framework(name).title) for name in library.by_framework), key=lambda pair: pair[1].lower()),
        }
        common = sorted((min(held, key=_fame) for held in library.by_hub.values()), key=_fame)[:8]
        latest = feeds.newest(library)[:6]
        day = [entry.meta.verified.when.isoformat() for entry in latest]
        example = self._example(common)
        home = {"library": library, "kinds": KINDS, "common": common, "latest": latest, "title": self.config.name}
        search = {"library": library, "facets": facets, "title": "Search", "indexed": self.searchable}
        for path, template, depends, context in (
            ("index.html", "home.html", (everything, day), home),
            ("search/index.html", "search.html", (everything,), search),
            ("paste/index.html", "paste.html", (digest(self.rules), example), {"title": "Read a log", "count": len(library.entries), "example": example}),
            ("about/index.html", "about.html", (len(library.entries),), {"title": "About", "count": len(library.entries)}),
            ("404.html", "missing.html", (), {"title": "Not found"}),
        ):
            yield self._page(path, template, depends, lambda context=context: context)  # type: ignore[misc]
        self.sitemap += [("", ""), ("search/", ""), ("paste/", ""), ("about/", "")]
        yield Page("index.md", digest(self.shared, everything), lambda: feeds.llms_text(library, self.config))
        yield Page("about/index.md", digest(self.shared), lambda: _about_markdown(self.config))
        for name, text in (("search", "Search"), ("paste", "Read a log")):
            yield Page(f"{name}/index.md", digest(self.shared, name), lambda text=text: _tool_markdown(text, self.config))  # type: ignore[misc]

    def _example(self, entries: Sequence[Entry]) -> str:
        """Return a log to try the reader with: the first that one of these entries has."""
        for entry in [*(e for e in entries if e.meta.kind == "hang"), *entries]:
            for path in sample_paths(self.library.files[entry.id]):
                text = path.read_bytes()[:_EXAMPLE].decode("utf-8", "replace")
                return text.rsplit("\n", 1)[0]
        return ""

    def _machine(self) -> Iterator[Page]:
        library, config = self.library, self.config
        rows = [(e.id, e.meta, e.body.summary) for e in library.entries]
        everything = digest(self.shared, rows)
        yield Page("llms.txt", everything, lambda: feeds.llms_text(library, config))
        yield Page("api/entries.json", everything, lambda: feeds.entry_list(library))
        yield Page(".nojekyll", "", lambda: "")
        if config.base:
            yield Page("feed.xml", everything, lambda: feeds.atom(library, config))
            yield Page("sitemap.xml", digest(everything, self.sitemap), lambda: feeds.sitemap(self.sitemap, config))
            yield Page("robots.txt", self.shared, lambda: f"User-agent: *\nAllow: /\nSitemap: {config.base}/sitemap.xml\n")


def _fame(entry: Entry) -> tuple[int, int, str]:
    meta = entry.meta
    generic = meta.standing != "specific"
    return (FREQUENCIES.index(meta.frequency) + 4 * generic, SEVERITIES.index(meta.severity), meta.id)


def _messages_markdown(rows: Sequence[tuple[str, str, str, str, str]], name: str) -> str:
    lines = [f"- `{(kind + ': ') if kind else ''}{text.replace('`', '')}`: [{title}](/e/{entry}/)\n" for kind, text, entry, title, _ in rows]
    return visible(f"# Error messages: {name}\n\n" + "".join(lines))


def _about_markdown(config: SiteConfig) -> str:
    return f"# About {config.name}\n\n{config.tagline}\n\nThe same entries answer on the command line: `{config.command} ask`, `{config.command} diagnose LOGDIR`.\n"


def _tool_markdown(title: str, config: SiteConfig) -> str:
    return f"# {title}\n\nThis page works in a browser. In a terminal: `{config.command} ask \"what you see\"`, `{config.command} diagnose LOG`.\n"
