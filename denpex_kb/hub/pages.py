"""Every file of the site: what it depends on and how it is rendered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from denpex_kb.hub import feeds, paste
from denpex_kb.hub.config import SiteConfig
from denpex_kb.hub.entrypage import entry_view, markdown_page
from denpex_kb.hub.library import FREQUENCIES, KINDS, SEVERITIES, Library
from denpex_kb.hub.listings import Listing, listing_markdown, listings
from denpex_kb.hub.messages import messages_by_letter
from denpex_kb.hub.samples import best_sample, sample_choices
from denpex_kb.hub.sources import Inputs, ParseCache, site_folder
from denpex_kb.hub.svg import card
from denpex_kb.hub.templates import Templates
from denpex_kb.hub.text import slug, visible
from denpex_kb.hub.writer import Page, digest
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


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def _same(data: str | bytes) -> str | bytes:
    return data


class Pages:
    """All pages of one site."""

    def __init__(self, inputs: Inputs, config: SiteConfig, cache: ParseCache, *, searchable: bool) -> None:
        """Prepare what the pages share; `searchable` says that Pagefind will index them."""
        self.cache = cache
        self.library: Library = inputs.library
        self.introductions = inputs.introductions
        self.config = config
        self.searchable = searchable
        self.folder = site_folder()
        self.static = {
            path.name: path.read_bytes() for path in sorted((self.folder / "static").iterdir()) if path.is_file()
        }
        if config.logo:
            logo = Path(config.logo)
            self.static[f"logo{logo.suffix}"] = logo.read_bytes()
        self.matcher = paste.matcher_script(self.folder / "paste")
        hints = {fact.name: f"{fact.title}: {fact.find}" for fact in inputs.library.kb.facts}
        self.rules_key = digest(inputs.shared, [entry.meta for entry in self.library.entries])
        self.shared_tags = frozenset(tag for tag, held in self.library.by_tag.items() if len(held) > 1)
        self.shared = digest(inputs.shared, config, sorted(self.static.items()), self.matcher, self.searchable)
        assets = {name: f"{name}?v={digest(data)[:8]}" for name, data in self.static.items()}
        assets["matcher.js"] = f"matcher.js?v={digest(self.matcher)[:8]}"
        assets["rules.js"] = f"rules.js?v={self.rules_key[:8]}"
        self.templates = Templates(self.folder / "templates", config, assets, hints)
        self.prefixes = PrefixReader(self.library.kb.prefixes)
        self.sitemap: list[tuple[str, str]] = []

    @cached_property
    def rules(self) -> bytes:
        """The rules as JSON; made only when an entry's front matter changed."""
        from denpex_kb.hub.rules import rules_json  # loads the compiler of rules, which most builds do not need

        return rules_json(self.library, self.cache.literals)

    def pages(self) -> Iterator[Page]:
        """Go through every file of the site."""
        yield from self._assets()
        for entry in self.library.entries:
            yield from self._entry(entry)
        for alias, target in sorted(self.library.aliases.items()):
            context = {"target": target, "title": self.library.by_id[target].meta.title}
            yield self._page(f"e/{alias}/index.html", "redirect.html", (target,), partial(dict, context))
        for listing in listings(self.library, self.introductions):
            yield from self._listing(listing)
        yield from self._messages()
        yield from self._single()
        yield from self._machine()

    def _page(self, path: str, template: str, depends: tuple[Any, ...], context: Callable[[], dict[str, Any]]) -> Page:
        return Page(
            path, digest(self.shared, template, depends), lambda: self.templates.render(template, path, **context())
        )

    def _assets(self) -> Iterator[Page]:
        for name, data in self.static.items():
            yield Page(f"static/{name}", digest(data), partial(_same, data))
        yield Page("static/matcher.js", digest(self.matcher), lambda: self.matcher)
        yield Page("static/rules.js", self.rules_key, lambda: paste.rules_script(self.rules))
        yield Page("api/rules.json", self.rules_key, lambda: self.rules)

    def _entry(self, entry: Entry) -> Iterator[Page]:
        library = self.library
        samples = sample_choices(library.files[entry.id])
        before, after = library.neighbours[entry.id]
        related = [entry.meta.specialises, *(item.id for item in entry.meta.lookalikes)]
        related += [word.strip("*") for word in entry.body.if_not.replace(":", " ").split() if word.startswith("**")]
        known = [library.by_id.get(library.aliases.get(item or "", item or "")) for item in related]
        own = digest(self.shared, entry)
        depends = (
            own,
            [(path.name, *_stamp(path)) for paths in samples for path in paths],
            [(other.id, other.meta.title, other.meta.kind) for other in (before, after, *known) if other],
            [(other.id, other.meta.title) for other in library.children.get(entry.id, ())],
            [tag for tag in entry.meta.tags if slug(tag) in self.shared_tags],
        )

        def context() -> dict[str, Any]:
            view = entry_view(entry, library, self.config, best_sample(entry, samples, self.prefixes))
            return {"view": view, "entry": entry, "shared_tags": self.shared_tags}

        path = f"e/{entry.id}/index.html"
        self.sitemap.append((f"e/{entry.id}/", entry.meta.verified.when.isoformat()))
        yield self._page(path, "entry.html", depends, context)
        yield Page(f"e/{entry.id}/index.md", own, lambda: markdown_page(entry, self.config))
        yield Page(
            f"e/{entry.id}/card.svg",
            digest(self.shared, entry.meta.title, entry.meta.hub, entry.meta.kind),
            lambda: self._card(entry),
        )

    def _card(self, entry: Entry) -> str:
        overline = f"{self.library.hub(entry.meta.hub).title} · {entry.meta.kind.replace('-', ' ')}"
        return card(entry.meta.title, overline, self.config.name, _CARD_COLOURS[entry.meta.kind])

    def _listing(self, listing: Listing) -> Iterator[Page]:
        rows = [
            (e.id, e.meta.title, e.meta.kind, e.meta.severity, e.meta.phase, e.meta.hub, e.body.summary)
            for e in listing.entries
        ]
        depends = (
            rows,
            [(group.title, group.text, [entry.id for entry in group.entries]) for group in listing.groups],
            listing.map,
            listing.lead,
            listing.siblings,
        )
        self.sitemap.append((listing.path, ""))
        template = "tags.html" if listing.path == "tag/" else "listing.html"
        yield self._page(
            f"{listing.path}index.html", template, depends, lambda: {"listing": listing, "title": listing.title}
        )
        yield Page(f"{listing.path}index.md", digest(self.shared, depends), lambda: listing_markdown(listing))

    def _messages(self) -> Iterator[Page]:
        letters = messages_by_letter(self.library, self.prefixes)
        counts = {letter: len(held) for letter, held in letters.items()}
        first = next(iter(letters), "a")
        for letter, messages in (("", letters.get(first, ())), *letters.items()):
            path = f"message/{letter}/" if letter else "message/"
            shown = letter or first
            rows = [
                (item.kind, item.text, item.entry.id, item.entry.meta.title, item.entry.meta.kind) for item in messages
            ]
            name = "other signs" if shown == "0" else shown.upper()
            context = {"letters": counts, "letter": shown, "messages": messages, "title": f"Error messages: {name}"}
            self.sitemap.append((path, ""))
            yield self._page(f"{path}index.html", "messages.html", (rows, counts), partial(dict, context))
            yield Page(
                f"{path}index.md",
                digest(self.shared, rows),
                partial(_messages_markdown, rows, name, "../" * path.count("/")),
            )

    def _single(self) -> Iterator[Page]:
        library = self.library
        rows = [
            (e.id, e.meta.title, e.meta.kind, e.meta.hub, e.meta.phase, e.meta.tags, e.body.summary, e.meta.severity)
            for e in library.entries
        ]
        everything = digest(rows)
        facets = {
            "hub": [(hub, library.hub(hub).title) for hub in library.by_hub],
            "phase": [(phase.id, phase.title) for phase in library.kb.phases if phase.id in library.by_phase],
            "kind": [(kind, KINDS[kind][0]) for kind in KINDS if kind in library.by_kind],
            "framework": sorted(
                ((name, library.framework(name).title) for name in library.by_framework),
                key=lambda pair: pair[1].lower(),
            ),
        }
        common = sorted((min(held, key=_fame) for held in library.by_hub.values()), key=_fame)[:8]
        latest = feeds.newest(library)[:6]
        day = [entry.meta.verified.when.isoformat() for entry in latest]
        example = self._example()
        home = {"library": library, "kinds": KINDS, "common": common, "latest": latest, "title": self.config.name}
        search = {"library": library, "facets": facets, "title": "Search", "indexed": self.searchable}
        for path, template, depends, context in (
            ("index.html", "home.html", (everything, day), home),
            ("search/index.html", "search.html", (everything,), search),
            (
                "paste/index.html",
                "paste.html",
                (self.rules_key, example),
                {"title": "Read a log", "count": len(library.entries), "example": example},
            ),
            (
                "about/index.html",
                "about.html",
                (len(library.entries),),
                {"title": "About", "count": len(library.entries)},
            ),
            ("404.html", "missing.html", (), {"title": "Not found"}),
        ):
            yield self._page(path, template, depends, partial(dict, context))
        self.sitemap += [("", ""), ("search/", ""), ("paste/", ""), ("about/", "")]
        yield Page("index.md", digest(self.shared, everything), lambda: feeds.llms_text(library, self.config))
        yield Page("about/index.md", digest(self.shared), lambda: _about_markdown(self.config))
        for name, text in (("search", "Search"), ("paste", "Read a log")):
            yield Page(f"{name}/index.md", digest(self.shared, name), partial(_tool_markdown, text, self.config))

    def _example(self) -> str:
        """Return a log to try the reader with: a short one of one file, of a hang where there is one."""
        for entry in sorted(self.library.entries, key=lambda entry: (entry.meta.kind != "hang", *_fame(entry))):
            for paths in sample_choices(self.library.files[entry.id]):
                if len(paths) == 1 and paths[0].parent.name == entry.id and paths[0].stat().st_size < _EXAMPLE:
                    return paths[0].read_text(encoding="utf-8", errors="replace")
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
            yield Page(
                "robots.txt", self.shared, lambda: f"User-agent: *\nAllow: /\nSitemap: {config.base}/sitemap.xml\n"
            )


def _fame(entry: Entry) -> tuple[int, int, str]:
    meta = entry.meta
    generic = meta.standing != "specific"
    return (
        FREQUENCIES.index(meta.frequency) + SEVERITIES.index(meta.severity) + 8 * generic,
        SEVERITIES.index(meta.severity),
        meta.id,
    )


def _messages_markdown(rows: Sequence[tuple[str, str, str, str, str]], name: str, up: str) -> str:
    lines = [
        f"- `{(kind + ': ') if kind else ''}{text.replace('`', '')}`: [{title}]({up}e/{entry}/index.md)\n"
        for kind, text, entry, title, _ in rows
    ]
    return visible(f"# Error messages: {name}\n\n" + "".join(lines))


def _about_markdown(config: SiteConfig) -> str:
    commands = f"`{config.command} ask`, `{config.command} diagnose LOGDIR`"
    return f"# About {config.name}\n\n{config.tagline}\n\nThe same entries answer on the command line: {commands}.\n"


def _tool_markdown(title: str, config: SiteConfig) -> str:
    commands = f'`{config.command} ask "what you see"`, `{config.command} diagnose LOG`'
    return f"# {title}\n\nThis page works in a browser. In a terminal: {commands}.\n"
