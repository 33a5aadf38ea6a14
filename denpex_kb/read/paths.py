"""A file's path → rank, host and attempt, as far as the path says so."""

from __future__ import annotations

import re
from collections.abc import Iterable

from denpex_kb.model.events import Origin
from denpex_kb.model.kb import PathFormat

_WHO = {"rank", "local_rank", "task"}


class PathReader:
    """Reads paths by the formats of `kb/paths.yaml`."""

    def __init__(self, formats: Iterable[PathFormat]) -> None:
        """Compile the formats."""
        self._formats = [(re.compile(item.pattern), item.gives) for item in formats]

    def read(self, name: str) -> Origin:
        """Return what a path says; every format may add what the ones before it left open."""
        said: dict[str, str] = {}
        for pattern, gives in self._formats:
            if (match := pattern.search(name)) is not None:
                found = dict(zip(gives, match.groups(), strict=False))
                if _WHO & found.keys() and _WHO & said.keys():
                    continue  # one number per path: the first format knows best what it counts
                for key, value in found.items():
                    said.setdefault(key, value)

        def number(key: str) -> int | None:
            return int(said[key]) if key in said else None

        rank = number("rank") if "rank" in said else number("task")
        return Origin(name, rank, number("local_rank"), said.get("host"), number("attempt"))
