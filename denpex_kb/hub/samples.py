"""The sample log of an entry, with the lines that its own signatures match, found when the site is built."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from denpex_kb.model.entry import Entry, Signature
from denpex_kb.read.prefixes import PrefixReader

_MOST_FILES = 2
_TEXTS = (".log", ".txt", ".err", ".out")
_MOST_CHOICES = 4  # samples that are compared
_MOST_BYTES = 1 << 20
_MOST_LINES = 46  # shown of one file
_AROUND = 2  # lines shown before and after a telling one
_CLIP = 240
_ORDER = {"decisive": 0, "strong": 1, "part": 2, "supporting": 3}


class SampleLine(Struct, frozen=True):
    """A line as shown; `telling` is the strength of the signature that it matches, `names` which ones."""

    number: int
    text: str
    telling: str = ""
    names: tuple[str, ...] = ()


class SampleFile(Struct, frozen=True):
    """One file of a sample: the lines worth seeing, in stretches."""

    name: str
    stretches: tuple[tuple[SampleLine, ...], ...]
    lines: int
    telling: int


def sample_choices(entry_file: Path) -> list[list[Path]]:
    """Return the files of the first positive samples: of each one log, or those of the first two ranks."""
    choices: list[list[Path]] = []
    for sample in _listed(str(entry_file.with_suffix(""))):
        if not sample.name.startswith("positive-"):
            continue
        files = _listed(sample.path) if sample.is_dir() else [sample]
        texts = [Path(file.path) for file in files if file.name.endswith(_TEXTS) or "." not in file.name]
        if texts:
            choices.append(texts[:_MOST_FILES])
        if len(choices) == _MOST_CHOICES:
            break
    return choices


def _listed(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            # a link could lead out of the catalog, and what it leads to would be published
            return sorted((entry for entry in found if not entry.is_symlink()), key=lambda entry: entry.name)
    except OSError:
        return []  # an entry without samples


def best_sample(entry: Entry, choices: Sequence[Sequence[Path]], prefixes: PrefixReader) -> tuple[SampleFile, ...]:
    """Read the samples and return the one that shows most of what the entry looks for."""
    read = [read_sample(entry, paths, prefixes) for paths in choices]
    return max(read, key=_telling, default=())


def _telling(files: Sequence[SampleFile]) -> tuple[int, int]:
    names: dict[str, int] = {}
    for file in files:
        for stretch in file.stretches:
            for line in stretch:
                for name in line.names:
                    names[name] = max(names.get(name, 0), 2 if line.telling in ("decisive", "strong") else 1)
    return sum(names.values()), -sum(file.lines for file in files)


def read_sample(entry: Entry, paths: Sequence[Path], prefixes: PrefixReader) -> tuple[SampleFile, ...]:
    """Read the files of a sample and mark the telling lines."""
    shapes = [
        (signature, re.compile(signature.pattern), re.compile(signature.unless) if signature.unless else None)
        for signature in entry.meta.signatures
        if signature.pattern
    ]
    found = (_file(path, shapes, prefixes) for path in paths)
    return tuple(file for file in found if file is not None)


_Shapes = list[tuple[Signature, "re.Pattern[str]", "re.Pattern[str] | None"]]


def _file(path: Path, shapes: _Shapes, prefixes: PrefixReader) -> SampleFile | None:
    try:
        with path.open("rb") as stream:
            text = stream.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return None
    lines = text.replace("\r\n", "\n").split("\n")
    if lines and not lines[-1]:
        lines.pop()
    if not lines:
        return None
    reader = (
        prefixes.sample(lines)
        if any(signature.pattern and signature.pattern.startswith("^") for signature, _, _ in shapes)
        else prefixes
    )
    telling: dict[int, tuple[str, tuple[str, ...]]] = {}
    for index, line in enumerate(lines):
        hit = [
            signature
            for signature, shape, unless in shapes
            if (shape.search(line) or (shape.pattern.startswith("^") and shape.search(reader.read(line).rest)))
            and not (unless is not None and unless.search(line))
        ]
        if hit:
            strongest = min((signature.strength for signature in hit), key=_ORDER.__getitem__)
            telling[index] = strongest, tuple(signature.name for signature in hit)
    return SampleFile(path.name, _stretches(lines, telling), len(lines), len(telling))


def _stretches(lines: list[str], telling: dict[int, tuple[str, tuple[str, ...]]]) -> tuple[tuple[SampleLine, ...], ...]:
    """Choose the lines round the telling ones; the strongest come first where there are too many."""
    chosen: set[int] = set()
    for index in sorted(telling, key=lambda index: (_ORDER[telling[index][0]], index)):
        around = set(range(max(0, index - _AROUND), min(len(lines), index + _AROUND + 1)))
        if chosen and len(chosen | around) > _MOST_LINES:
            continue
        chosen |= around
    if not chosen:
        chosen = set(range(max(0, len(lines) - 14), len(lines)))
    stretches: list[list[SampleLine]] = []
    for index in sorted(chosen):
        strength, names = telling.get(index, ("", ()))
        text = lines[index].rsplit("\r", 1)[-1]
        line = SampleLine(index + 1, text if len(text) <= _CLIP else text[:_CLIP] + "…", strength, names)
        if stretches and stretches[-1][-1].number == index:
            stretches[-1].append(line)
        else:
            stretches.append([line])
    return tuple(map(tuple, stretches))
