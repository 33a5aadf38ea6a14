"""Standard output and error, with what they can show."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from enum import StrEnum

from denpex_kb.errors import OutputError
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

    Raises:
        OutputError: nothing more can be written there, for instance to a full disk.
    """
    encoding = sys.stdout.encoding or "utf-8"
    if not cleaned:
        text = hide_secrets(text)  # what has slipped through is hidden here: no command prints a secret
    try:
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
        sys.stdout.flush()  # here, where it can be told; at the end of the program nobody would hear of it
    except BrokenPipeError:
        raise
    except OSError as error:
        drop_output()
        raise OutputError(f"the output cannot be written: {error.strerror}") from error


def err(text: str) -> None:
    """Print a line to standard error, where anybody listens."""
    encoding = sys.stderr.encoding or "utf-8"
    line = (hide_secrets(printable_lines(text)) + "\n").encode(encoding, "replace").decode(encoding)
    with contextlib.suppress(OSError):
        sys.stderr.write(line)


def drop_output() -> None:
    """Let what is still held for standard output go nowhere, so that the end of the program does not fail on it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def open_missing_streams() -> None:
    """Put the empty device in the place of a standard stream that the caller has closed."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 (kept to the end)
