"""Find signatures that also hit the positives of another entry, of which theirs does not know."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from denpex_kb.api import KnowledgeBase
from denpex_kb.catalog.care import related
from denpex_kb.catalog.findings import Finding

_TELLING = ("decisive", "strong")
_MOST = 1 << 20  # of a sample's file; samples are small


def check_overlaps(kb: KnowledgeBase, files: dict[str, Path]) -> Iterator[Finding]:
    """Hold the positives of some entries against the telling signatures of all others.

    A hit alone need not win, but it is a coin tossed on each input: name the other entry as a look-alike, or make the
    pattern name more. Generic entries may hit: they give way.

    Args:
        kb: the knowledge base with the entries.
        files: entry id → its file; samples lie in the folder of the same name beside it.
    """
    for entry_id, path in files.items():
        if entry_id not in kb.index.by_id:
            continue
        entry = kb.entry(entry_id)
        found: dict[tuple[str, str], Path] = {}
        for sample in sorted((path.parent / entry_id).glob("positive-*")):
            for file in [sample] if sample.is_file() else sorted(item for item in sample.rglob("*") if item.is_file()):
                text = file.read_bytes()[:_MOST].decode("utf-8", "replace")
                for other_id, names in kb.signatures_in(text).items():
                    for name in names:
                        found.setdefault((other_id, name), sample)
        for (other_id, name), sample in sorted(found.items()):
            other = kb.entry(other_id)
            if other_id == entry_id or other.meta.standing != "specific" or related(entry, other):
                continue
            strength = next(item.strength for item in other.meta.signatures if item.name == name)
            if strength in _TELLING:
                says = f"signature {name} ({strength}) of {other_id} hits it too"
                yield Finding(str(sample), 1, f"{says}; name the two as look-alikes, or narrow it")
