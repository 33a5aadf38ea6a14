"""Entry text of a private catalog is taken for hostile."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from denpex_kb.hub.highlight import highlight
from denpex_kb.hub.svg import card
from denpex_kb.hub.text import block, inline, plain

from .conftest import Build
from .pagecheck import read_page

EVIL = "<script>alert(1)</script><img src=x onerror=alert(1)>"
BIDI = "user\u202eexe.txt\u2066\u200b"


@pytest.mark.parametrize(
    "markdown",
    [
        EVIL,
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](data:text/html,<script>alert(1)</script>)",
        "[x](vbscript:x)",
        "[x](file:///etc/passwd)",
        "<javascript:alert(1)>",
        "![x](https://example.org/track.gif)",
        "<iframe src='https://example.org'></iframe>",
        '`"><script>alert(1)</script>`',
        "<a href='#' onclick='alert(1)'>x</a>",
        "```html\n</code></pre><script>alert(1)</script>\n```",
        "| a |\n|---|\n| <b onmouseover=alert(1)> |",
    ],
)
def test_markdown_gives_neither_code_nor_requests(markdown: str) -> None:
    """HTML is shown as text, links have three schemes, pictures are left out."""
    for html in (str(block(markdown)), str(inline(markdown))):
        lowered = html.lower()
        assert "<script" not in lowered
        assert "<img" not in lowered
        assert "<iframe" not in lowered
        assert 'href="javascript' not in lowered
        assert 'href="data' not in lowered
        assert 'href="file' not in lowered
        assert "<b " not in lowered
        assert "<a href='#'" not in lowered


def test_a_link_of_an_allowed_scheme_stays() -> None:
    """https, http, mailto and fragments are links."""
    for address in ("https://example.org/a", "http://example.org", "mailto:a@example.org", "#fix"):
        assert f'href="{address}"' in inline(f"[x]({address})")


def test_invisible_characters_are_made_visible() -> None:
    """Bidirectional controls and zero-width characters become a mark everywhere."""
    for shown in (
        str(block(BIDI)),
        str(inline(BIDI)),
        str(highlight(BIDI, "python")),
        plain(BIDI),
        card(BIDI, "x", "y", "#fff"),
    ):
        assert "\ufffd" in shown
        assert not set(shown) & {"\u202e", "\u2066", "\u200b"}


def test_code_is_escaped_in_every_language() -> None:
    """A highlighted snippet holds no element but spans."""
    for language in ("python", "bash", "yaml", "json", "toml", "", "klingon"):
        html = str(highlight(f'x = "{EVIL}" # {EVIL}', language))
        assert "<script" not in html
        assert "<img" not in html


def make_hostile(private: Path) -> None:
    """Put code, control characters and links of every kind into all that an entry says."""
    path = private / "deepspeed" / "our-xyzzy-fails.md"
    text = path.read_text(encoding="utf-8")
    text = text.replace('title: "A private failure', f'title: "{EVIL} {BIDI} failure')
    text = text.replace("tags: [xyzzy]", 'tags: ["</script><script>alert(1)</script>", "../../../x"]')
    text = text.replace(
        'example: "RuntimeError: xyzzy plugh 7 failed"', f'example: "RuntimeError: xyzzy plugh 7 failed {EVIL}"'
    )
    text = text.replace('"our own cluster"', f'"{EVIL}"').replace('"xyzzy fails"', f'"$(rm -rf /) {EVIL}"')
    text = text.replace(
        "Nobody said plugh.",
        f"Nobody said plugh. {EVIL} {BIDI} [x](javascript:alert(1)) ![x](https://example.org/x.png)",
    )
    lanes = f'[{{name: "{EVIL}", steps: [{{work: "{EVIL}"}}]}}]'
    text = text.replace("action:", f'diagram: {{kind: ranks, caption: "{EVIL}", lanes: {lanes}}}\naction:', 1)
    path.write_text(text, encoding="utf-8")
    (path.with_suffix("")).mkdir()
    (path.with_suffix("") / "positive-x.log").write_text(
        f"RuntimeError: xyzzy plugh 7 failed {EVIL}\n", encoding="utf-8"
    )


def test_a_hostile_entry_builds_a_harmless_page(build: Build, private: Path, tmp_path: Path) -> None:
    """Title, tags, messages, sample, drawing, questions and headings of an entry cannot break out of the page."""
    make_hostile(private)
    report = build()
    assert report.findings == ()
    for page in (tmp_path / "site").rglob("*.html"):
        read = read_page(page)
        raw = page.read_text(encoding="utf-8")
        assert not set(raw) & {"\u202e", "\u2066", "\u200b"}, page
        assert not any(name.startswith("on") for _, attributes in read.tags for name in attributes), page
        assert all(item.get("src") or item.get("type") == "application/ld+json" for item in read.all("script")), page
        assert all(not (item.get("src") or "").startswith("x") for item in read.all("img")), page
        assert not any(link.lower().startswith(("javascript:", "data:")) for link in read.links), page
    assert not (tmp_path / "x").exists()


BREAKS = [
    "</script><script>alert(1)</script>",
    "</SCRIPT ><script>alert(1)</script>",
    "<!--<script>",
    "]]><script>alert(1)</script>",
    "--> &lt;/script&gt;",
    '"}]}, {"@type": "Evil"',
    "\u2028\u2029\u202e",
]


@pytest.mark.parametrize("text", BREAKS)
def test_structured_data_cannot_be_left(build: Build, private: Path, tmp_path: Path, text: str) -> None:
    """What closes an element, a comment or a CDATA section elsewhere stays inside a string of valid JSON."""
    path = private / "deepspeed" / "our-xyzzy-fails.md"
    entry = path.read_text(encoding="utf-8")
    for place in ("Nobody said plugh.", '"xyzzy fails"', "1. Say it aloud."):
        assert place in entry
    quoted = json.dumps(f"xyzzy fails {text}")
    entry = entry.replace("Nobody said plugh.", f"Nobody said plugh. `{text}`", 1)
    entry = entry.replace('"xyzzy fails"', quoted).replace("1. Say it aloud.", f"1. Say it aloud. {text}")
    path.write_text(entry, encoding="utf-8")
    build()
    page = tmp_path / "site" / "e" / "our-xyzzy-fails" / "index.html"
    raw = page.read_text(encoding="utf-8")
    assert "<script>alert" not in raw
    assert "]]>" not in raw
    found = [json.loads(script) for script in read_page(page).scripts if script.strip()]
    assert [data["@type"] for data in found] == ["TechArticle", "HowTo", "FAQPage", "BreadcrumbList"]
    (question,) = found[2]["mainEntity"]
    wanted = text if text.isprintable() else "\ufffd" * len(text)
    assert f"xyzzy fails {wanted}" in (question["name"], *question["alternateName"])


def test_a_sample_that_leads_out_of_the_catalog_is_not_published(build: Build, private: Path, tmp_path: Path) -> None:
    """A symbolic link among the samples is passed over."""
    secret = tmp_path / "secret.log"
    secret.write_text("RuntimeError: xyzzy plugh 7 failed, key = 0123456789\n", encoding="utf-8")
    folder = private / "deepspeed" / "our-xyzzy-fails"
    folder.mkdir()
    (folder / "positive-x.log").symlink_to(secret)
    build()
    assert "0123456789" not in (tmp_path / "site" / "e" / "our-xyzzy-fails" / "index.html").read_text(encoding="utf-8")
