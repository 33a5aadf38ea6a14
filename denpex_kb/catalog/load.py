"""Entry files → `Entry` objects."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from denpex_kb.catalog import yamlfile
from denpex_kb.catalog.body import parse_body
from denpex_kb.catalog.findings import FileBroken, Finding
from denpex_kb.model.entry import Entry, FrontMatter

_FENCE = "---"


class Loaded(msgspec.Struct, frozen=True):
    """The entries of one catalog folder, and what was wrong in the files that gave none."""

    entries: tuple[Entry, ...]
    files: dict[str, Path]
    findings: tuple[Finding, ...]


def entry_files(root: Path) -> Iterator[Path]:
    """Go through the entry files of a catalog folder, in a stable order.

    A Markdown file counts when it opens with front matter, so that a README may lie beside.
    """
    for path in sorted(root.glob("*/*.md")) + sorted(root.glob("*.md")):
        if path.name.lower() not in {"readme.md", "index.md"} and path.is_file():
            yield path


def parse_entry(text: str, file: str, origin: str = "denpex") -> Entry:
    """Read one entry.

    Raises:
        FileBroken: the front matter or the body is wrong.
    """
    text = text.replace("\r\n", "\n").removeprefix("\ufeff")
    if not text.startswith(_FENCE + "\n"):
        raise FileBroken([Finding(file, 1, "an entry opens with YAML front matter between two lines `---`")])
    end = text.find("\n" + _FENCE + "\n", len(_FENCE))
    if end < 0:
        raise FileBroken([Finding(file, 1, "the front matter is not closed; put a line `---` before the body")])
    head = text[len(_FENCE) + 1 : end + 1]
    body_line = text.count("\n", 0, end + len(_FENCE) + 2) + 1
    meta = yamlfile.read(head, file, FrontMatter, first_line=2)
    return Entry(meta, parse_body(text[end + len(_FENCE) + 2 :], file, body_line), origin)


def load_catalog(root: Path, origin: str = "denpex") -> Loaded:
    """Read every entry of a catalog folder; broken files are reported and skipped."""
    entries: list[Entry] = []
    files: dict[str, Path] = {}
    findings: list[Finding] = []
    for path in entry_files(root):
        name = str(path)
        try:
            entry = parse_entry(path.read_text(encoding="utf-8"), name, origin)
        except FileBroken as broken:
            findings += broken.findings
        except (OSError, UnicodeDecodeError) as error:
            findings.append(Finding(name, 1, f"cannot be read: {error}"))
        else:
            if entry.id in files:
                findings.append(Finding(name, 2, f"the id {entry.id} stands in {files[entry.id]} too; ids are unique"))
                continue
            entries.append(entry)
            files[entry.id] = path
    return Loaded(tuple(entries), files, tuple(findings))
