"""Entry text on the pages of the site: plain, clipped, with its placeholders explained."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

from denpex_kb.render.html import block, inline, visible

__all__ = ["block", "clipped", "explain_placeholders", "inline", "plain", "slug", "unbroken", "visible"]

_NAME = re.compile(r"(\b[A-Za-z]\w*-\d\w*)")
_PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_-]*(?:\.[a-z_]+)*)\}")


def plain(markdown: str) -> str:
    """Take the marks of Markdown off, for descriptions and cards."""
    return visible(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", markdown).replace("**", "").replace("`", ""))


def explain_placeholders(html: Markup, hints: dict[str, str]) -> Markup:
    """Mark `{fact.name}` in rendered text, with how to find the value as its explanation."""

    def one(match: re.Match[str]) -> str:
        hint = hints.get(match.group(1))
        if hint is None:
            return match.group(0)
        return f'<var title="{escape(hint)}">{match.group(0)}</var>'

    return Markup(_PLACEHOLDER.sub(one, str(html)))  # noqa: S704 (escaped text with escaped hints)


def unbroken(text: str) -> Markup:
    """Escape a title, and keep names such as ZeRO-3 on one line."""
    parts = _NAME.split(visible(text))
    held = (
        f'<span class="nb">{escape(part)}</span>' if number % 2 else str(escape(part))
        for number, part in enumerate(parts)
    )
    return Markup("".join(held))  # noqa: S704 (every piece was escaped)


def slug(text: str) -> str:
    """Write a name as a part of an address."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "x"


def clipped(text: str, length: int) -> str:
    """Cut a text at a word, with an ellipsis."""
    if len(text) <= length:
        return text
    return text[:length].rsplit(" ", 1)[0].rstrip(" ,;:.") + "…"
