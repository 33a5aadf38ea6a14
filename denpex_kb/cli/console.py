"""Standard output and error, with what they can show."""

from __future__ import annotations

import os
import shutil
import sys
from enum import StrEnum

from denpex_kb.model.display import printable_lines
from denpex_kb.model.secrets import hide_secrets
from denpex_kb.render.paper import Paper


class Colour(StrEnum):
    """When to use colour."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class Format(StrEnum):
    """How to print an answer."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"


def wants_colour(choice: Colour) -> bool:
    """Say whether standard output takes colour: asked for, or a capable terminal without NO_COLOR."""
    if choice is not Colour.AUTO:
        return choice is Colour.ALWAYS
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stdout.isatty() or bool(os.environ.get("FORCE_COLOR"))


def paper(choice: Colour = Colour.AUTO) -> Paper:
    """Return a sheet as wide as the terminal; 100 columns where there is none."""
    width = shutil.get_terminal_size((100, 45)).columns
    encoding = (sys.stdout.encoding or "ascii").lower().replace("-", "")
    return Paper(width, colour=wants_colour(choice), unicode=encoding in ("utf8", "utf16", "utf32"))


def out(text: str, *, cleaned: bool = False) -> None:
    """Print to standard output; characters that it cannot show become question marks.

    Args:
        text: what to print.
        cleaned: whether secrets are known to be hidden in it already.
    """
    encoding = sys.stdout.encoding or "utf-8"
    if not cleaned:
        text = hide_secrets(text)  # what has slipped through is hidden here: no command prints a secret
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))


def err(text: str) -> None:
    """Print a line to standard error."""
    encoding = sys.stderr.encoding or "utf-8"
    sys.stderr.write((hide_secrets(printable_lines(text)) + "\n").encode(encoding, "replace").decode(encoding))
