"""Where catalog, kb and index lie: in a wheel, in a checkout, in private folders, in the cache."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

_PACKAGE = Path(__file__).resolve().parent.parent
_SAMPLE_FREE = (".md", ".yaml", ".yml")


class Sources(Struct, frozen=True):
    """The folders that an index is made from; later catalogs win over earlier ones."""

    kb: Path
    catalogs: tuple[Path, ...]

    def files(self) -> Iterator[str]:
        """Go through every file that the index depends on, in a stable order."""
        for folder in (self.kb, *self.catalogs):
            found: list[str] = []
            top = str(folder)
            pending = [top]
            while pending:
                at = pending.pop()
                try:
                    with os.scandir(at) as entries:
                        for entry in entries:
                            # an entry's samples lie two levels down and are no part of the index
                            if at == top and entry.is_dir():
                                pending.append(entry.path)
                            elif entry.name.endswith(_SAMPLE_FREE) and entry.is_file():  # a pipe would be waited for
                                found.append(entry.path)
                except OSError:
                    continue  # a folder that is not there has no files; `load` names it
            yield from sorted(found)

    def fingerprint(self) -> str:
        """Return a cheap digest of names, sizes and times, that changes whenever a file does."""
        import hashlib  # 15 ms that an installed Denpex need not spend

        digest = hashlib.sha256()
        # the form of an index follows from the code that writes it
        code = (str(path) for room in ("catalog", "index", "model") for path in sorted((_PACKAGE / room).glob("*.py")))
        for path in (*code, *self.files()):
            try:
                status = os.stat(path)  # noqa: PTH116 (hundreds of files at each start: half the time of a Path's)
            except OSError:
                continue
            digest.update(f"{path}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
        return digest.hexdigest()

    def content_hash(self) -> str:
        """Return a digest of the contents, the same on every machine."""
        import hashlib

        digest = hashlib.sha256()
        for folder in (self.kb, *self.catalogs):
            for name in Sources(self.kb, (folder,)).files() if folder != self.kb else Sources(self.kb, ()).files():
                path = Path(name)
                if path.is_relative_to(folder):
                    digest.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes() + b"\0")
        return digest.hexdigest()


def public_sources() -> Sources:
    """Return the folders of the public catalog: the checkout's, or those that the wheel carries."""
    root = _PACKAGE.parent
    if (root / "catalog").is_dir() and (root / "kb").is_dir():
        return Sources(root / "kb", (root / "catalog",))
    return Sources(_PACKAGE / "_data" / "kb", (_PACKAGE / "_data" / "catalog",))


def packaged_index() -> Path | None:
    """Return the ready index that the wheel carries; None in a checkout."""
    path = _PACKAGE / "_data" / "index.sqlite"
    return path if path.is_file() else None


def cache_folder() -> Path:
    """Return a folder for compiled indexes: the user's cache, or a private temporary one where that is read-only."""
    import platformdirs

    wanted = os.environ.get("DENPEX_CACHE")
    folder = Path(wanted) if wanted else platformdirs.user_cache_path("denpex")
    return folder if _writable(folder) else temporary_cache()


def temporary_cache() -> Path:
    """Return a folder for compiled indexes in the temporary directory, which nobody else can write to."""
    import tempfile

    fallback = Path(tempfile.gettempdir()) / f"denpex-{os.getuid()}"
    if _writable(fallback) and _is_private(fallback):
        return fallback
    return Path(tempfile.mkdtemp(prefix="denpex-"))


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)


def _is_private(folder: Path) -> bool:
    """Say whether nobody else could have put an index into a folder of the shared temporary directory."""
    status = folder.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o022
