"""A small Hyperscan database over the patterns that the scan leaves out, for the ends of logs."""

from __future__ import annotations

from collections.abc import Sequence

import hyperscan

from denpex_kb.catalog.patterns import FLAGS, for_hyperscan
from denpex_kb.model.rules import ScanPattern


def compile_some(patterns: Sequence[ScanPattern], indices: Sequence[int]) -> hyperscan.Database:
    """Compile a few of the patterns; each keeps its index as id."""
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(
        expressions=[for_hyperscan(patterns[index].pattern) for index in indices],
        ids=list(indices),
        flags=[FLAGS] * len(indices),
    )
    database.scratch = hyperscan.Scratch(database)
    return database
