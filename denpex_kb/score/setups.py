"""Hold every entry's example set-ups against the preflight: positives must meet the rule, negatives must not."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from denpex_kb.catalog.findings import Finding
from denpex_kb.catalog.preflight import EXAMPLES, rule_names
from denpex_kb.check.run import check_paths
from denpex_kb.errors import DenpexError
from denpex_kb.index.open import Index
from denpex_kb.model.preflight import PreflightReport

_HEAD = re.compile(r"^=== (\S+)$", re.MULTILINE)


def check_setups(index: Index, files: dict[str, Path]) -> Iterator[Finding]:
    """Check the example set-ups of some entries.

    Args:
        index: the catalog with the entries.
        files: entry id → its file; examples lie in the folder of the same name beside it.
    """
    for entry_id, path in files.items():
        early = index.entry(entry_id).meta.preflight
        for name in rule_names(early) if early is not None else ():
            for kind in EXAMPLES:
                example = path.parent / entry_id / f"{kind}{name}.txt"
                if example.is_file():
                    yield from _faults(index, entry_id, name, example, wanted=kind == EXAMPLES[0])


def _faults(index: Index, entry_id: str, rule: str, example: Path, *, wanted: bool) -> Iterator[Finding]:
    try:
        report = run_example(index, example.read_text(encoding="utf-8"))
    except (DenpexError, ValueError) as error:
        yield Finding(str(example), 1, f"cannot be checked: {error}")
        return
    found = {(item.id, item.rule) for item in report.findings}
    if wanted and (entry_id, rule) not in found:
        others = ", ".join(sorted(f"{item} ({name})" for item, name in found)) or "nothing"
        yield Finding(str(example), 1, f"must be warned of by the rule {rule}, but {others} is found")
    if not wanted and any(item == entry_id for item, _ in found):
        yield Finding(str(example), 1, f"a negative of {entry_id}, yet it warns")


def run_example(index: Index, text: str) -> PreflightReport:
    """Lay the files of an example out and check them.

    Raises:
        ValueError: the example does not begin with `=== FILE`, or a file leads out of the folder.
        InputError: nothing in it belongs to a set-up.
    """
    parts = _HEAD.split(text)
    if parts[0].strip() or len(parts) < 3:
        raise ValueError("an example is files, each below a line `=== NAME`")
    with tempfile.TemporaryDirectory(prefix="denpex-setup-") as folder:
        for name, body in zip(parts[1::2], parts[2::2], strict=True):
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts:
                raise ValueError(f"{name} leads out of the example's folder")
            target = Path(folder, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(body.removeprefix("\n"), encoding="utf-8")
        return check_paths([Path(folder)], index)
