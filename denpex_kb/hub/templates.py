"""The templates of `site/templates`, with autoescape on and every value made safe to show."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jinja2
import msgspec
from markupsafe import Markup

from denpex_kb.hub import text
from denpex_kb.hub.config import SiteConfig
from denpex_kb.hub.highlight import highlight
from denpex_kb.render.html import shown


class Templates:
    """Renders pages; each knows its own depth, so that links work from a folder as well as from a server."""

    def __init__(self, folder: Path, config: SiteConfig, assets: dict[str, str], hints: dict[str, str]) -> None:
        """Open the templates.

        Args:
            folder: where they lie.
            config: the site's settings.
            assets: name → name with the digest of its content, so that caches never serve an old one.
            hints: fact → how to find its value.
        """
        self._config = config
        self._assets = assets
        self._hints = hints
        self._environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(folder),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            finalize=shown,
        )
        self._environment.filters.update(
            {
                "md": lambda value: text.explain_placeholders(text.block(value), hints),
                "mdi": lambda value: text.explain_placeholders(text.inline(value), hints),
                "plain": text.plain,
                "unbroken": text.unbroken,
                "slug": text.slug,
                "clip": text.clipped,
                "json_ld": _json_ld,
            }
        )
        self._environment.globals["code"] = self._code
        self._environment.globals["site"] = config

    def _code(self, source: str, language: str = "") -> Markup:
        return text.explain_placeholders(highlight(source, language), self._hints)

    def render(self, template: str, path: str, **context: Any) -> str:
        """Render the page that goes to `path` (such as `e/some-id/index.html`)."""
        config = self._config
        root = "../" * path.count("/")
        if path == "404.html" and config.base:
            root = f"{urlsplit(config.base).path}/"  # served at any depth
        here = path.removesuffix("index.html")
        return self._environment.get_template(template).render(
            path=here,
            root=root,
            link=_linker(root),
            asset=lambda name: f"{root}static/{self._assets.get(name, name)}",
            canonical=f"{config.base}/{here}" if config.base else "",
            **context,
        )


def _linker(root: str) -> Callable[[str], str]:
    def link(path: str) -> str:
        """Return the relative address of a page; folders are named with their index, for file://."""
        path, mark, fragment = path.partition("#")
        if not path or path.endswith("/"):
            path += "index.html"
        return f"{root}{path}{mark}{fragment}"

    return link


def _json_ld(value: object) -> Markup:
    encoded = msgspec.json.encode(value).decode()
    for character in "<>&":
        encoded = encoded.replace(character, f"\\u{ord(character):04x}")
    return Markup(encoded)  # noqa: S704 (it cannot close its element)
