"""What machines read: sitemap, feed of changes, a map for language models, the list of entries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from markupsafe import escape

from denpex_kb.hub.config import SiteConfig
from denpex_kb.hub.library import Library
from denpex_kb.hub.text import clipped, plain, visible
from denpex_kb.model.entry import Entry

_FEED = 60


def newest(library: Library) -> list[Entry]:
    """Return the entries by the day on which they were last verified, the latest and surest first."""
    how = {"reproduced": 0, "maintainer": 1, "source": 2, "reported": 3}

    def order(entry: Entry) -> tuple[int, int, str]:
        verified = entry.meta.verified
        return -verified.when.toordinal(), how[verified.how], entry.id

    return sorted(library.entries, key=order)


def sitemap(paths: Iterable[tuple[str, str]], config: SiteConfig) -> str:
    """Write the sitemap of (path, day of last change or nothing)."""
    rows = "".join(
        f"<url><loc>{_xml(f'{config.base}/{path}')}</loc>{f'<lastmod>{day}</lastmod>' if day else ''}</url>\n"
        for path, day in paths
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{rows}</urlset>\n'
    )


def atom(library: Library, config: SiteConfig) -> str:
    """Write the feed: entries as they were verified last."""
    entries = newest(library)[:_FEED]
    updated = entries[0].meta.verified.when.isoformat() if entries else "2000-01-01"
    rows = "".join(
        f"<entry><id>{_xml(f'{config.base}/e/{entry.id}/')}</id><title>{_xml(entry.meta.title)}</title>"
        f'<link href="{_xml(f"{config.base}/e/{entry.id}/")}"/>'
        f"<updated>{entry.meta.verified.when.isoformat()}T00:00:00Z</updated>"
        f'<category term="{_xml(entry.meta.hub)}"/><summary>{_xml(plain(entry.body.summary))}</summary></entry>\n'
        for entry in entries
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">'
        f"<id>{_xml(config.base)}/</id><title>{_xml(config.name)}</title><updated>{updated}T00:00:00Z</updated>"
        f'<author><name>{_xml(config.name)}</name></author><link href="{_xml(config.base)}/"/>'
        f'<link rel="self" href="{_xml(config.base)}/feed.xml"/>\n{rows}</feed>\n'
    )


def llms_text(library: Library, config: SiteConfig) -> str:
    """Write llms.txt: what the site holds and where each entry lies as Markdown."""
    base = f"{config.base}/" if config.base else ""
    parts = [f"# {config.name}\n\n> {config.tagline}\n"]
    parts.append(
        "Each entry describes one failure: symptoms, cause, affected versions, the fix with code, how to verify it, and"
        " what tells it from look-alikes. Every page lies beside its HTML as index.md.\n"
    )
    for hub, entries in library.by_hub.items():
        parts.append(f"\n## {library.hub(hub).title}\n\n")
        parts += [
            f"- [{_brackets(entry.meta.title)}]({base}e/{entry.id}/index.md): {_short(entry)}\n" for entry in entries
        ]
    return visible("".join(parts))


def entry_list(library: Library) -> bytes:
    """Write the list of entries as JSON."""
    rows: Sequence[dict[str, object]] = [
        {
            "id": entry.id,
            "title": entry.meta.title,
            "hub": entry.meta.hub,
            "phase": entry.meta.phase,
            "kind": entry.meta.kind,
            "category": entry.meta.category,
            "severity": entry.meta.severity,
            "tags": entry.meta.tags,
            "aliases": entry.meta.aliases,
            "summary": plain(entry.body.summary),
            "verified": entry.meta.verified.when.isoformat(),
            "page": f"e/{entry.id}/",
        }
        for entry in library.entries
    ]
    return msgspec.json.format(msgspec.json.encode({"schema": "denpex.hub/1", "entries": rows}), indent=0) + b"\n"


def _xml(text: str) -> str:
    return str(escape(visible(text)))


def _short(entry: Entry) -> str:
    return clipped(plain(entry.body.summary), 160)


def _brackets(text: str) -> str:
    return text.replace("[", "(").replace("]", ")")
