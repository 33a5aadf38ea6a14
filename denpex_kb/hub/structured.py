"""What an entry's page says, as JSON-LD for search engines: nothing that the page does not show as well."""

from __future__ import annotations

from collections.abc import Mapping

from denpex_kb.hub.config import SiteConfig
from denpex_kb.hub.library import Library
from denpex_kb.hub.text import plain, visible
from denpex_kb.model.entry import Entry

Data = dict[str, object]


def structured_data(entry: Entry, library: Library, config: SiteConfig, description: str) -> tuple[Data, ...]:
    """Return the objects for an entry's page: the article, how to fix it, the question it answers, and the way to it.

    Args:
        entry: what the page is of.
        library: names the hub.
        config: names the site; without its address nothing is said of addresses.
        description: the page's description.
    """
    address = f"{config.base}/e/{entry.id}/" if config.base else ""
    found = [_article(entry, config, description, address), _how_to(entry, address), _question(entry)]
    if address:
        found.append(_trail(entry, library, config))
    return tuple({"@context": "https://schema.org", **data} for data in found if data)


def _article(entry: Entry, config: SiteConfig, description: str, address: str) -> Data:
    meta = entry.meta
    article: Data = {
        "@type": "TechArticle",
        "headline": meta.title,
        "description": description,
        "keywords": ", ".join(meta.tags),
        "dateModified": meta.verified.when.isoformat(),
        "inLanguage": config.language,
        "license": config.licence_url,
        "citation": [reference.url for reference in meta.references],
        "isPartOf": {"@type": "WebSite", "name": config.name},
    }
    return article | ({"mainEntityOfPage": address} if address else {})


def _how_to(entry: Entry, address: str) -> Data:
    """Say how to apply the variant of the fix that comes first; nothing where it has no steps, but only code."""
    first = entry.body.fix.variants[0]
    if not first.steps:
        return {}
    here: Mapping[str, object] = {"url": f"{address}#fix-1"} if address else {}
    texts = [("", plain(step)) for step in first.steps]
    texts += [(snippet.language or "text", visible(snippet.text)) for snippet in first.snippets]
    steps = [
        {"@type": "HowToStep", "position": number, **({"name": name} if name else {}), "text": text, **here}
        for number, (name, text) in enumerate(texts, 1)
    ]
    name = plain(f"{entry.meta.title}: {first.title}")
    return {"@type": "HowTo", "name": name, "description": plain(entry.body.fix.summary), "step": steps}


def _question(entry: Entry) -> Data:
    """Say what people ask: ways to put one question, so that there is one question with one answer."""
    asked = [visible(question) for question in entry.meta.questions]
    answer = f"{plain(entry.body.summary)} {plain(entry.meta.action.text)}"
    question: Data = {
        "@type": "Question",
        "name": asked[0],
        "alternateName": asked[1:],
        "acceptedAnswer": {"@type": "Answer", "text": answer},
    }
    return {"@type": "FAQPage", "mainEntity": [question]}


def _trail(entry: Entry, library: Library, config: SiteConfig) -> Data:
    meta = entry.meta
    crumbs = [(config.name, ""), (library.hub(meta.hub).title, f"hub/{meta.hub}/"), (meta.title, f"e/{meta.id}/")]
    return {
        "@type": "BreadcrumbList",
        "itemListElement": [
            {"@type": "ListItem", "position": number, "name": name, "item": f"{config.base}/{path}"}
            for number, (name, path) in enumerate(crumbs, 1)
        ],
    }
