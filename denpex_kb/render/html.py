"""Text → HTML, taken for hostile: no HTML of its own, no remote pictures, few link schemes, nothing invisible."""

from __future__ import annotations

import re
from functools import lru_cache

from markdown_it import MarkdownIt
from markupsafe import Markup

from denpex_kb.model.display import printable_lines

_SCHEMES = re.compile(r"^(?:https?://|mailto:|#)", re.IGNORECASE)


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable("table").disable(["image"])
    parser.validateLink = lambda url: bool(_SCHEMES.match(url))  # type: ignore[method-assign]
    return parser


_PARSER = _parser()


def visible(text: str) -> str:
    """Make control, bidirectional and invisible characters visible."""
    return text if text.isprintable() else printable_lines(text)


def block(markdown: str) -> Markup:
    """Render Markdown with paragraphs, lists, code and tables."""
    return Markup(_PARSER.render(visible(markdown)))  # noqa: S704 (the parser escapes; HTML in the source is off)


@lru_cache(maxsize=4096)
def inline(markdown: str) -> Markup:
    """Render the Markdown of one line: emphasis, code and links."""
    return Markup(_PARSER.renderInline(visible(markdown)))  # noqa: S704 (as above)


def shown(value: object) -> object:
    """Make invisible characters visible in everything that a template prints; None prints nothing."""
    if isinstance(value, str) and value.isprintable():
        return value  # nothing in it is invisible; most values go this way
    if isinstance(value, Markup):
        return Markup(visible(value))  # noqa: S704 (it was markup before)
    if isinstance(value, str):
        return visible(value)
    return "" if value is None else value


_WORDS = MarkdownIt("zero", {"html": False}).enable(["backticks", "emphasis", "escape"])


def words(markdown: str) -> Markup:
    """Render code and emphasis of one line only: a text that holds values of the input must not become a link."""
    return Markup(_WORDS.renderInline(visible(" ".join(markdown.split()))))  # noqa: S704 (the parser escapes)
