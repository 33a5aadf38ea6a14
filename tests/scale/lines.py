"""Texts of the software by release, from `lines.yaml`."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import msgspec

# The NCCL that the wheels of a PyTorch release bring along (.github/scripts/generate_binary_build_matrix.py).
NCCL = {
    "2.1": "2.18.1",
    "2.2": "2.19.3",
    "2.3": "2.20.5",
    "2.4": "2.20.5",
    "2.5": "2.21.5",
    "2.6": "2.21.5",
    "2.7": "2.26.2",
    "2.8": "2.27.3",
}
RELEASES = tuple(NCCL)


def number(release: str) -> tuple[int, ...]:
    """Make a release comparable."""
    return tuple(int(part) for part in release.split("."))


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of `lines.yaml`."""

    source: str
    text: str | list[str] = ""
    since: dict[str, str | list[str]] = {}
    at: dict[str, int] = {}

    def lines(self, release: str) -> list[str]:
        """Give the templates as the release prints them; lines within one text stay apart."""
        text = self.text
        for first, form in self.since.items():
            if number(first) <= number(release)[: len(number(first))]:
                text = form
        return text.split("\n") if isinstance(text, str) else list(text)


@cache
def entries() -> dict[str, Entry]:
    """Read the file once."""
    path = Path(__file__).parent / "lines.yaml"
    return msgspec.yaml.decode(path.read_bytes(), type=dict[str, Entry])


def printed(name: str, release: str = "99", /, **fields: Any) -> list[str]:
    """Write the lines of one message."""
    fields.setdefault("at", at(name, release) if entries()[name].at else 0)
    return [line.format(**fields) for line in entries()[name].lines(release)]


def at(name: str, release: str) -> int:
    """Give the line of the source file that prints the message; 0 where the release does not print it."""
    return entries()[name].at.get(".".join(release.split(".")[:2]), 0)
