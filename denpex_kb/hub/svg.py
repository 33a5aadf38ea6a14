"""Small SVG drawings, written by hand: shapes, text, and the words that stand for them."""

from __future__ import annotations

import textwrap

from markupsafe import Markup, escape

from denpex_kb.hub.text import visible


class Drawing:
    """An SVG element in the making; its looks come from the style sheet."""

    def __init__(self, width: float, height: float, name: str, title: str, description: str) -> None:
        """Open the element; title and description are what a screen reader says."""
        self._name = name
        size = f'viewBox="0 0 {_n(width)} {_n(height)}" width="{_n(width)}" height="{_n(height)}"'
        arrow = (
            f'<marker id="{name}-a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        )
        self._parts = [
            f'<svg class="dg" {size} role="img" aria-labelledby="{name}-t {name}-d">',
            f'<title id="{name}-t">{_t(title)}</title><desc id="{name}-d">{_t(description)}</desc>',
            f'<defs>{arrow}<path d="M0 0 8 4 0 8z" class="dg-head"/></marker></defs>',
        ]

    def rect(self, x: float, y: float, width: float, height: float, kind: str, radius: float = 0) -> None:
        """Draw a rectangle."""
        size = f'width="{_n(width)}" height="{_n(height)}" rx="{_n(radius)}"'
        self._parts.append(f'<rect x="{_n(x)}" y="{_n(y)}" {size} class="{kind}"/>')

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str, *, arrow: bool = False) -> None:
        """Draw a line."""
        head = f' marker-end="url(#{self._name}-a)"' if arrow else ""
        self._parts.append(f'<line x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}" class="{kind}"{head}/>')

    def text(self, x: float, y: float, text: str, kind: str, *, anchor: str = "start") -> None:
        """Write a line of text."""
        where = "" if anchor == "start" else f' text-anchor="{anchor}"'
        self._parts.append(f'<text x="{_n(x)}" y="{_n(y)}" class="{kind}"{where}>{_t(text)}</text>')

    def markup(self) -> Markup:
        """Close the element."""
        return Markup("".join([*self._parts, "</svg>"]))  # noqa: S704 (every text was escaped)


def wrapped(text: str, width: int) -> list[str]:
    """Break a text into lines of at most `width` characters."""
    return textwrap.wrap(text, width, break_on_hyphens=True) or [""]


def balanced(text: str, width: int) -> list[str]:
    """Break a text into as few lines as `wrapped`, but of about the same length."""
    lines = wrapped(text, width)
    for narrower in range(width - 1, 5, -1):
        tried = wrapped(text, narrower)
        if len(tried) > len(lines) or max(map(len, tried)) > narrower:
            break
        lines = tried
    return lines


def card(title: str, overline: str, name: str, colour: str) -> str:
    """Draw the picture that is shown where a page is linked to: 1200 by 630, with fonts that every reader has."""
    lines = wrapped(visible(title), 30)
    if len(lines) > 4:
        lines = [*lines[:3], lines[3][:27] + "…"]
    size = 76 if len(lines) < 4 else 66
    looks = f'font-size="{size}" font-weight="700" fill="#f4f6f8"'
    text = "".join(
        f'<text x="90" y="{250 + number * int(size * 1.2)}" {looks}>{_t(line)}</text>'
        for number, line in enumerate(lines)
    )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="1200" height="630" viewBox="0 0 1200 630"'
        ' font-family="system-ui,-apple-system,Segoe UI,Roboto,Helvetica,Arial,sans-serif">'
        f'<rect width="1200" height="630" fill="#11151a"/><rect width="16" height="630" fill="{colour}"/>'
        f'<text x="90" y="140" font-size="34" fill="{colour}" font-weight="600">{_t(overline)}</text>{text}'
        f'<text x="90" y="570" font-size="32" fill="#9aa5b1">{_t(name)}</text></svg>\n'
    )


def _n(number: float) -> str:
    return f"{number:.1f}".rstrip("0").rstrip(".")


def _t(text: str) -> str:
    return str(escape(visible(text)))
