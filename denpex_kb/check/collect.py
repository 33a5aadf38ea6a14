"""Paths → the text files of a set-up, bounded in number, size and depth."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from denpex_kb.errors import InputError
from denpex_kb.read.text import is_binary

MAX_FILES = 20_000
MAX_SIZE = 1 << 20  # bytes of one file
MAX_TOTAL = 256 << 20
MAX_DEPTH = 40
_SUFFIXES = frozenset(
    [
        ".py",
        ".json",
        ".yaml",
        ".yml",
        ".sh",
        ".bash",
        ".slurm",
        ".sbatch",
        ".sub",
        ".job",
        ".toml",
        ".txt",
        ".in",
        ".lock",
        "",
    ]
)
_SKIPPED = frozenset(
    [
        ".git",
        ".hg",
        ".svn",
        "__pycache__",
        "node_modules",
        "site-packages",
        ".tox",
        ".nox",
        ".mypy_cache",
        ".ruff_cache",
        "wandb",
        "mlruns",
        ".ipynb_checkpoints",
    ]
)
_NAMED_LIKE = frozenset([".txt", ".in", ".lock", ".toml"])  # of these only lists of packages are read


class Text(Struct, frozen=True):
    """One file of the set-up."""

    path: Path
    name: str  # as shown on the screen
    text: str
    named: bool  # the user named the file itself
    root: Path  # the folder that was named, or the folder of the named file


class Collected(Struct):
    """What was found below the named paths."""

    texts: list[Text]
    environments: list[Path]  # virtual environments that lie there
    notes: list[str]


def collect(paths: Sequence[Path]) -> Collected:
    """Read the files below some paths.

    Raises:
        InputError: a named path does not exist or cannot be read as text.
    """
    found = Collected([], [], [])
    total = 0
    for path, root, named in _walk_all(paths, found):
        if len(found.texts) >= MAX_FILES or total >= MAX_TOTAL:
            found.notes.append(f"{root}: more than can be read in one go; name folders below it to check the rest")
            break
        text = _read(path, found.notes, named=named)
        if text is None:
            continue
        total += len(text)
        found.texts.append(Text(path, str(path), text, named, root))
    return found


def _walk_all(paths: Sequence[Path], found: Collected) -> Iterator[tuple[Path, Path, bool]]:
    seen: set[Path] = set()
    for path in paths:
        try:
            mode = path.stat().st_mode
        except FileNotFoundError:
            raise InputError(f"{path}: no such file or folder; check the path") from None
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: cannot be opened: {getattr(error, 'strerror', None) or error}") from error
        if stat.S_ISDIR(mode):
            for item in _walk(path, found):
                if item not in seen:
                    seen.add(item)
                    yield item, path, False
        elif stat.S_ISREG(mode):
            if path not in seen:
                seen.add(path)
                yield path, path.parent, True
        else:
            raise InputError(f"{path}: neither a file nor a folder")


def _walk(root: Path, found: Collected) -> Iterator[Path]:
    depth_of_root = len(root.parts)

    def unreadable(error: OSError) -> None:
        found.notes.append(f"{error.filename}: {error.strerror}")

    for folder, folders, names in os.walk(root, followlinks=False, onerror=unreadable):
        here = Path(folder)
        if "pyvenv.cfg" in names or "conda-meta" in folders:
            if here != root:
                found.environments.append(here)
            folders[:] = []
            continue
        deep = len(here.parts) - depth_of_root >= MAX_DEPTH
        folders[:] = [] if deep else sorted(name for name in folders if name not in _SKIPPED)
        for name in sorted(names):
            path = here / name
            if path.suffix.lower() in _SUFFIXES and _worth_reading(path):
                yield path


def _worth_reading(path: Path) -> bool:
    from denpex_kb.read.packages import is_requirements

    if path.suffix.lower() in _NAMED_LIKE and not is_requirements(path.name):
        return False
    try:
        mode = path.lstat()  # links are not followed: what they lead to is read where it lies
    except OSError:
        return False
    return stat.S_ISREG(mode.st_mode) and mode.st_size > 0


def _read(path: Path, notes: list[str], *, named: bool) -> str | None:
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_SIZE + 1)
    except OSError as error:
        if named:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from error
        notes.append(f"{path}: cannot be read: {error.strerror}")
        return None
    if len(data) > MAX_SIZE:
        if named:
            raise InputError(f"{path}: larger than {MAX_SIZE >> 20} MiB; a script or config is smaller")
        if path.suffix.lower() in (".py", ".sh", ".yaml", ".yml"):
            notes.append(f"{path}: larger than {MAX_SIZE >> 20} MiB, passed over")
        return None
    if not path.suffix and not named and not data.startswith((b"#!", b"#SBATCH")):
        return None
    if b"\0" in data[:4096] or is_binary(data[:4096]):
        if named:
            raise InputError(f"{path}: a binary file; name scripts, configs or folders")
        return None
    return data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")
