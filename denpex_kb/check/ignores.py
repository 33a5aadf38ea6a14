"""Comments that silence a finding: `# denpex: ignore` or `# denpex: ignore[id, id]`."""

from __future__ import annotations

import re

_COMMENT = re.compile(r"#\s*denpex:\s*ignore(?:\s*\[([^\]]{0,400})\])?", re.IGNORECASE)


class Ignores:
    """The comments of the files of a set-up."""

    def __init__(self, texts: dict[str, str]) -> None:
        """Take the texts by file name."""
        self._texts = texts
        self._lines: dict[str, list[str]] = {}

    def covers(self, file: str, line: int | None, entry_id: str) -> bool:
        """Say whether a comment on the line, or alone on the line above, silences an entry."""
        if line is None or file not in self._texts:
            return False
        lines = self._lines.setdefault(file, self._texts[file].split("\n"))
        here = lines[line - 1] if 0 < line <= len(lines) else ""
        above = lines[line - 2] if 1 < line <= len(lines) + 1 else ""
        return _silences(here, entry_id) or (above.lstrip().startswith("#") and _silences(above, entry_id))


def _silences(text: str, entry_id: str) -> bool:
    found = _COMMENT.search(text)
    if found is None:
        return False
    return found.group(1) is None or entry_id in [item.strip() for item in found.group(1).split(",")]
