"""Hub introductions: `kb/hubs/<hub>.md`, a paragraph or more, then a section for each phase of a run."""

from __future__ import annotations

import re
from pathlib import Path

from msgspec import Struct

_HEADING = re.compile(r"^## +(\S.*?)\s*$", re.MULTILINE)


class Introduction(Struct, frozen=True):
    """What a hub's page says before it lists failures."""

    lead: str = ""
    phases: dict[str, str] = {}


def read_introductions(folder: Path) -> dict[str, Introduction]:
    """Read the introductions that there are; a heading is the id of a phase."""
    found: dict[str, Introduction] = {}
    for path in sorted(folder.glob("*.md")):
        parts = _HEADING.split(path.read_text(encoding="utf-8"))
        lead = re.sub(r"^# .*\n", "", parts[0]).strip()
        found[path.stem] = Introduction(lead, {parts[i]: parts[i + 1].strip() for i in range(1, len(parts), 2)})
    return found
