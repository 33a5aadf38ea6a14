"""The Hyperscan database over all patterns: compile, store, load."""

from __future__ import annotations

from collections.abc import Sequence

import hyperscan

from denpex_kb.catalog.patterns import FLAGS, for_hyperscan
from denpex_kb.model.rules import UNSCANNED_MARKS, ScanPattern


def scanned(pattern: ScanPattern) -> bool:
    """Say whether a pattern takes part in the scan of the whole input."""
    return not (pattern.target == "mark" and pattern.name in UNSCANNED_MARKS)


def compile_database(patterns: Sequence[ScanPattern], common: Sequence[str]) -> hyperscan.Database:
    """Compile the patterns; each keeps its index as id. Broken ones must have been refused before.

    Args:
        patterns: the patterns of entries, marks and facts.
        common: lines that healthy runs print all the time.
    """
    chosen = [(index, pattern) for index, pattern in enumerate(patterns) if scanned(pattern)]
    text = "\n".join(common)
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(
        expressions=[for_hyperscan(pattern.pattern, text) for _, pattern in chosen],
        ids=[index for index, _ in chosen],
        flags=[FLAGS for _ in chosen],
    )
    return database


def dump_database(database: hyperscan.Database) -> bytes:
    """Serialize a compiled database; it fits processors and versions like this one's only."""
    return bytes(hyperscan.dumpb(database))


def load_database(data: bytes) -> hyperscan.Database | None:
    """Load a serialized database; None where it does not fit this processor or version."""
    try:
        database = hyperscan.loadb(data, hyperscan.HS_MODE_BLOCK)
        database.scratch = hyperscan.Scratch(database)
    except hyperscan.error:
        return None
    return database
