"""The public site: complete, self-contained, linked without gaps."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag

import pytest

from denpex_kb import KnowledgeBase
from denpex_kb.hub.diagrams import read_diagram

from .conftest import BASE
from .pagecheck import PageReader, read_page

CENTRAL = "deepspeed-moe-zero3-leaf-modules"


@cache
def page(path: Path) -> PageReader:
    return read_page(path)


def pages(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


def test_every_entry_has_its_page_under_100_kb_and_its_markdown(site: Path, kb: KnowledgeBase) -> None:
    """Each entry stands at /e/ID/, below 100 kB, with its Markdown beside it."""
    for summary in kb.entries():
        folder = site / "e" / summary.id
        assert (folder / "index.html").stat().st_size < 100_000, summary.id
        assert (folder / "index.md").read_text(encoding="utf-8").startswith(f"# {summary.title}\n")
        assert (folder / "card.svg").exists()


def test_every_page_has_markdown_beside_it(site: Path) -> None:
    """Every page but redirects and the error page lies as index.md beside its HTML."""
    for path in pages(site):
        if path.name == "index.html" and not any(
            item.get("http-equiv") == "refresh" for item in page(path).all("meta")
        ):
            assert path.with_name("index.md").exists(), path


def test_links_lead_somewhere(site: Path) -> None:
    """Every relative link names a file of the site, and its fragment an element there."""
    gaps = []
    for path in pages(site):
        for link in page(path).links:
            target, fragment = urldefrag(link)
            if target.startswith(("https://", "http://", "mailto:")):
                continue
            if path.name == "404.html":  # served at any depth
                target = target.replace("/kb/", "./")
            file = (path.parent / target).resolve() if target else path
            if not file.is_file() or (fragment and file.suffix == ".html" and fragment not in page(file).ids):
                gaps.append((path.relative_to(site), link))
    assert gaps == []


def test_nothing_is_requested_from_elsewhere(site: Path) -> None:
    """No picture, script, style or font comes from another host, and no page sets one inline."""
    for path in pages(site):
        read = page(path)
        for tag, attributes in read.tags:
            source = attributes.get("src") or (
                attributes.get("href") if tag == "link" and attributes.get("rel") != "canonical" else None
            )
            if source and not (tag == "link" and attributes.get("rel") in ("alternate", "canonical")):
                assert not source.startswith(("http:", "https:", "//")), (path, source)
            assert "style" not in attributes, (path, tag)
            assert not [name for name in attributes if name.startswith("on")], (path, tag)
        for script in read.all("script"):
            assert script.get("src") or script.get("type") == "application/ld+json", path


def test_every_page_has_a_policy_and_that_of_the_reader_forbids_requests(site: Path) -> None:
    """The policy forbids inline code everywhere, and any request on the page that reads logs."""
    for path in pages(site):
        policies = [
            item["content"] or ""
            for item in page(path).all("meta")
            if item.get("http-equiv") == "Content-Security-Policy"
        ]
        if any(item.get("http-equiv") == "refresh" for item in page(path).all("meta")):
            continue
        assert len(policies) == 1, path
        assert "default-src 'none'" in policies[0]
        assert "unsafe-inline" not in policies[0]
        if path.parent.name == "paste":
            assert "connect-src 'none'" in policies[0]


def test_ids_are_unique(site: Path) -> None:
    """No page gives two elements one id."""
    for path in pages(site):
        ids = [attributes["id"] for _, attributes in page(path).tags if attributes.get("id")]
        assert len(ids) == len(set(ids)), path


def test_older_ids_lead_to_the_present_one(site: Path, kb: KnowledgeBase) -> None:
    """An alias has a page that refreshes to the entry."""
    entry = kb.entry(CENTRAL)
    assert entry.meta.aliases
    for alias in entry.meta.aliases:
        text = (site / "e" / alias / "index.html").read_text(encoding="utf-8")
        assert f'url=../../e/{CENTRAL}/index.html"' in text
        assert f'rel="canonical" href="{BASE}/e/{CENTRAL}/"' in text


def test_the_entry_page_holds_all_that_the_entry_says(site: Path, kb: KnowledgeBase) -> None:
    """Fix variants, boxes, look-alikes, references, drawing and sample are on the page."""
    entry = kb.entry(CENTRAL)
    read = page(site / "e" / CENTRAL / "index.html")
    text = "".join(read.text)
    variants = [item for item in read.all("section") if (item.get("class") or "").split()[:1] == ["variant"]]
    assert len(variants) == len(entry.body.fix.variants)
    assert len([item for item in read.all("input") if item.get("type") == "checkbox"]) == len(entry.body.checklist)
    for reference in entry.meta.references:
        assert reference.url in read.links
    for lookalike in entry.meta.lookalikes:
        assert f"../../e/{lookalike.id}/index.html" in read.links
    assert any(item.get("class") == "dg" for item in read.all("svg"))
    assert read.all("mark")
    for heading in (
        "Symptoms",
        "Root cause",
        "Affected set-ups",
        "Fix",
        "Verify",
        "Checklist",
        "Run it locally",
        "References",
    ):
        assert heading in text


def structured(path: Path) -> dict[str, dict[str, Any]]:
    """Return the JSON-LD of a page by type."""
    found = [json.loads(script) for script in page(path).scripts if script.strip()]
    return {data["@type"]: data for data in found}


def shown(path: Path) -> str:
    """Return the text of a page, blanks as one."""
    return " ".join("".join(page(path).text).split())


def test_structured_data_is_json(site: Path) -> None:
    """The JSON-LD of an entry can be read and names the page."""
    data = structured(site / "e" / CENTRAL / "index.html")
    assert list(data) == ["TechArticle", "HowTo", "FAQPage", "BreadcrumbList"]
    assert data["TechArticle"]["mainEntityOfPage"] == f"{BASE}/e/{CENTRAL}/"


def test_the_how_to_has_the_steps_and_code_of_the_first_variant(site: Path, kb: KnowledgeBase) -> None:
    """Every step and every snippet is one, in their order; a variant without steps is no how-to."""
    seen = {True: 0, False: 0}
    for summary in kb.entries():
        first = kb.entry(summary.id).body.fix.variants[0]
        data = structured(site / "e" / summary.id / "index.html")
        assert ("HowTo" in data) == bool(first.steps), summary.id
        seen[bool(first.steps)] += 1
        if first.steps:
            steps = data["HowTo"]["step"]
            assert [step["position"] for step in steps] == list(range(1, len(steps) + 1))
            assert len(steps) == len(first.steps) + len(first.snippets)
            assert all(step["text"].strip() for step in steps)
    assert seen[True] > 0


def test_structured_data_says_only_what_the_page_shows(site: Path, kb: KnowledgeBase) -> None:
    """Questions, answer, steps and code stand on the page in the same words."""
    for summary in kb.entries():
        path = site / "e" / summary.id / "index.html"
        data, text = structured(path), shown(path)
        (question,) = data["FAQPage"]["mainEntity"]
        for asked in (question["name"], *question["alternateName"]):
            assert " ".join(asked.split()) in text, summary.id
        assert bare(question["acceptedAnswer"]["text"]) in bare(text), summary.id
        for step in data.get("HowTo", {}).get("step", ()):
            assert bare(step["text"]) in bare(text), (summary.id, step["text"])


def bare(text: str) -> str:
    """Leave out blanks, and what Markdown and highlighting put round words."""
    return "".join(character for character in text if character not in " \n\t*`_\\")


def test_sitemap_and_feed_are_whole(site: Path, kb: KnowledgeBase) -> None:
    """The sitemap names every page, the feed has a link for each entry in it."""
    space = {"s": "http://www.sitemaps.org/schemas/sitemap/0.9", "a": "http://www.w3.org/2005/Atom"}
    named = {item.text for item in ET.parse(site / "sitemap.xml").iterfind(".//s:loc", space)}
    for summary in kb.entries():
        assert f"{BASE}/e/{summary.id}/" in named
    for address in named:
        assert address is not None
        assert (site / address.removeprefix(BASE + "/") / "index.html").is_file(), address
    assert len(ET.parse(site / "feed.xml").findall("a:entry", space)) > 20


def test_every_tag_kind_phase_hub_category_framework_and_message_is_indexed(site: Path, kb: KnowledgeBase) -> None:
    """Each way to browse leads to the entry."""
    entry = kb.entry(CENTRAL)
    wanted = f"/e/{CENTRAL}/index.html"
    for path in (
        "hub/deepspeed",
        "hub/deepspeed/forward",
        "phase/forward",
        "kind/hang",
        "category/distributed-training",
        "framework/deepspeed",
    ):
        assert any(link.endswith(wanted) for link in page(site / path / "index.html").links), path
    tags = page(site / "tag/index.html")
    for tag in entry.meta.tags:
        assert tag.replace("_", "-").lower() in tags.ids
    assert any(link.endswith(wanted) for path in (site / "message").glob("*/index.html") for link in page(path).links)


def test_diagrams_of_the_catalog_can_be_drawn(kb: KnowledgeBase) -> None:
    """Every `diagram:` of the public catalog fits its shape."""
    drawn = 0
    for summary in kb.entries():
        meta = kb.entry(summary.id).meta
        try:
            drawn += read_diagram(meta.diagram) is not None
        except ValueError as error:
            pytest.fail(f"{meta.id}: {error}")
    assert drawn >= 10


def test_llms_text_and_lists_for_machines(site: Path, kb: KnowledgeBase) -> None:
    """llms.txt and the JSON list name every entry."""
    text = (site / "llms.txt").read_text(encoding="utf-8")
    listed = {item["id"] for item in json.loads((site / "api/entries.json").read_bytes())["entries"]}
    for summary in kb.entries():
        assert f"/e/{summary.id}/index.md" in text
        assert summary.id in listed
