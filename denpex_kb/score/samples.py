"""Hold every entry's samples against the pipeline: positives must be answered by it, negatives must not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from denpex_kb.api import KnowledgeBase
from denpex_kb.catalog.findings import Finding
from denpex_kb.errors import DenpexError


def check_samples(kb: KnowledgeBase, files: dict[str, Path]) -> Iterator[Finding]:
    """Run every sample of some entries.

    Args:
        kb: the knowledge base with the entries.
        files: entry id → its file; samples lie in the folder of the same name beside it.
    """
    known = set(kb.index.ids())
    for entry_id, path in files.items():
        folder = path.parent / entry_id
        if not folder.is_dir():
            continue
        for sample in sorted(folder.iterdir()):
            if sample.name.startswith(("positive-", "negative-")):
                message = _fault(kb, entry_id, sample, known)
                if message:
                    yield Finding(str(sample), 1, message)


def _fault(kb: KnowledgeBase, entry_id: str, sample: Path, known: set[str]) -> str | None:
    try:
        diagnosis = kb.diagnose(sample)
    except DenpexError as error:
        return f"cannot be diagnosed: {error}"
    best = diagnosis.hypotheses[0].id if diagnosis.recognised else None
    if sample.name.startswith("positive-"):
        return None if best == entry_id else f"must be answered by {entry_id}, but is by {best or diagnosis.verdict}"
    if best == entry_id:
        return f"a negative of {entry_id}, yet answered by it"
    wanted = sample.name.removeprefix("negative-").split(".")[0]
    if wanted.startswith("healthy") and best is not None:
        return f"a healthy log, yet answered by {best}"
    expected = max((item for item in known if wanted == item or wanted.startswith(item + "-")), key=len, default=None)
    if expected is not None and best != expected:
        return f"must be answered by {expected}, but is by {best or diagnosis.verdict}"
    return None
