"""A sheet of terminal text: labels at the left, wrapped text, code that can be copied, colour where wanted."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import Literal

from denpex_kb.model.display import printable, printable_lines

Tone = Literal["plain", "bold", "dim", "good", "bad", "warn", "code", "link"]
_CODES = {
    "plain": "",
    "bold": "1",
    "dim": "2",
    "good": "1;32",
    "bad": "1;31",
    "warn": "1;33",
    "code": "36",
    "link": "4;34",
}
_LABEL = 11
_NARROW = 72


class Paper:
    """Collects the lines of an answer for a terminal of a given width."""

    def __init__(self, width: int, *, colour: bool, unicode: bool = True) -> None:
        """Take the width in columns; 40 to 110 are used of it."""
        self.width = max(40, min(width, 110))
        self.colour = colour
        self.unicode = unicode
        self._narrow = self.width < _NARROW
        self.names: dict[str, str] = {}  # files by their short names, once the long one was written
        self._lines: list[str] = []

    def another(self) -> Paper:
        """Return an empty sheet of the same kind."""
        return Paper(self.width, colour=self.colour, unicode=self.unicode)

    def paint(self, text: str, tone: Tone) -> str:
        """Colour a text, where colour is on."""
        code = _CODES[tone]
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and code else text

    def blank(self) -> None:
        """Leave one line free; never two."""
        if self._lines and self._lines[-1]:
            self._lines.append("")

    def line(self, text: str, tone: Tone = "plain", indent: int = 0, hang: int = 0) -> None:
        """Write one wrapped paragraph; its further lines stand `hang` columns to the right."""
        for part in self._wrap(printable(text), indent, hang):
            self._lines.append(" " * indent + self.paint(part, tone))

    def raw(self, text: str) -> None:
        """Write one line as it is; the caller has made it safe."""
        self._lines.append(text)

    @property
    def used(self) -> int:
        """How many lines are written."""
        return len(self._lines)

    @property
    def room(self) -> int:
        """The columns that are left to the lines of a section."""
        return self.width - (2 if self._narrow else _LABEL)

    def section(self, label: str) -> Section:
        """Begin a labelled section."""
        return Section(self, label)

    def text(self) -> str:
        """Return the sheet."""
        lines = self._lines
        while lines and not lines[-1]:
            lines = lines[:-1]
        return "\n".join(lines) + "\n"

    def shortened(self, text: str) -> str:
        """Put short names of files where a text points at one of their lines."""
        for name, short in self.names.items():
            text = text.replace(f"{name}:", f"{short}:")
        return text

    def sign(self, rich: str, plain: str) -> str:
        """Return a sign, or its plain form on a terminal without Unicode."""
        return rich if self.unicode else plain

    def _wrap(self, text: str, indent: int, hang: int = 0) -> list[str]:
        return textwrap.wrap(
            text, self.width - indent, subsequent_indent=" " * hang, break_on_hyphens=False, break_long_words=True
        ) or [""]


class Section:
    """The lines under one label; the first stands beside it where the terminal is wide enough."""

    def __init__(self, paper: Paper, label: str) -> None:
        self._paper = paper
        self._label = label
        self._indent = 2 if paper._narrow else _LABEL
        if paper._narrow:
            paper.raw(paper.paint(label, "bold"))
            self._label = ""

    def _put(self, text: str, tone: Tone, indent: int = 0) -> None:
        left = self._indent + indent
        if self._label:
            head = self._paper.paint(self._label.ljust(self._indent), "bold")
            self._paper.raw(head + " " * indent + self._paper.paint(text, tone))
            self._label = ""
        else:
            self._paper.raw(" " * left + self._paper.paint(text, tone))

    def line(self, text: str, tone: Tone = "plain", indent: int = 0, hang: int = 0) -> None:
        """Write one wrapped paragraph."""
        for part in self._paper._wrap(printable(self._paper.shortened(text)), self._indent + indent, hang):
            self._put(part, tone, indent)

    def quoted(self, text: str, tone: Tone, indent: int, most: int, hang: int = 0) -> None:
        """Write a line of the input wrapped, and cut after so many lines."""
        parts = self._paper._wrap(printable(text), self._indent + indent, hang)
        if len(parts) > most:
            room = self._paper.width - self._indent - indent
            ellipsis = self._paper.sign("…", "...")
            parts = [*parts[: most - 1], parts[most - 1][: room - len(ellipsis)] + ellipsis]
        for part in parts:
            self._put(part, tone, indent)

    def raw(self, text: str) -> None:
        """Write one line as it is; the caller has made it safe and short enough."""
        self._put(text, "plain")

    def clipped(self, text: str, tone: Tone = "plain", indent: int = 0) -> None:
        """Write one line, cut at the width: quoted log lines are recognised by their beginning."""
        room = self._paper.width - self._indent - indent
        text = printable(text)
        ellipsis = self._paper.sign("…", "...")
        self._put(text if len(text) <= room else text[: room - len(ellipsis)] + ellipsis, tone, indent)

    def code(self, text: str, indent: int = 2, most: int | None = None, more: str = "denpex show") -> None:
        """Write code as it is: never wrapped, so that it can be copied."""
        lines = [line for line in printable_lines(text).split("\n") if line.strip() or most is None]
        shown = lines if most is None or len(lines) <= most else lines[: most - 1]
        for part in shown:
            self._put(part, "code", indent)
        if len(shown) < len(lines):
            self._put(f"# {len(lines) - len(shown)} more lines: {more}", "dim", indent)

    def items(self, texts: Iterable[str], tone: Tone = "plain", indent: int = 0) -> None:
        """Write short texts side by side, as many as fit a line; none of them is broken."""
        room = self._paper.width - self._indent - indent
        row = ""
        for text in map(printable, texts):
            if row and len(row) + 2 + len(text) > room:
                self._put(row, tone, indent)
                row = ""
            row = f"{row}  {text}" if row else text
        self._put(row, tone, indent)

    def lines(self, texts: Iterable[str], tone: Tone = "plain") -> None:
        """Write several paragraphs."""
        for text in texts:
            self.line(text, tone)
