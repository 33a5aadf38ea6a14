"""`denpex diagnose --html`: the answer with its picture, written to a file."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from denpex_kb.cli.console import err
from denpex_kb.errors import InputError, UsageError
from denpex_kb.model.display import REPORT

if TYPE_CHECKING:
    from denpex_kb.model.diagnosis import Diagnosis

HtmlOption = Annotated[
    Path | None,
    typer.Option(
        "--html",
        metavar="FILE",
        help="Also write the answer with a picture of the ranks, as one HTML file.",
        show_default=False,
    ),
]
OpenOption = Annotated[
    bool, typer.Option("--open", help="Open that file in the browser; without --html, one in the cache.")
]
_HEAD = 4096  # bytes in which a report says that it is one


def page_target(html: Path | None, *, wanted: bool) -> Path | None:
    """Return where the report goes, and find out before the work is done whether it can go there.

    Raises:
        UsageError: the name is no file's.
        InputError: nothing can be written there, or something else would be lost.
    """
    if html is None and not wanted:
        return None
    if html is None:
        from denpex_kb.index.places import cache_folder

        html = cache_folder() / "report.html"
        html.parent.mkdir(parents=True, exist_ok=True)
    if str(html) == "-":
        raise UsageError("--html -: takes the name of a file, e.g. --html report.html")
    try:
        mode = html.stat().st_mode
    except FileNotFoundError:
        _may_be_made(html)
        return html
    except OSError as error:
        raise InputError(f"--html {html}: cannot be written: {error.strerror}") from error
    if stat.S_ISDIR(mode):
        raise InputError(f"--html {html}: a folder; name a file in it, e.g. {html / 'report.html'}")
    if stat.S_ISREG(mode) and not _is_ours(html):
        raise InputError(f"--html {html}: exists and is no report of denpex; choose another name, or remove it first")
    return html


def write_page(diagnosis: Diagnosis, inputs: Sequence[Path], target: Path, *, browser: bool) -> None:
    """Write the report, whole or not at all.

    Args:
        diagnosis: the answer.
        inputs: the files and folders that were read, of which lines around those that count are quoted.
        target: where it goes.
        browser: whether to open it.

    Raises:
        InputError: it cannot be written.
    """
    from denpex_kb.pipeline.excerpts import read_excerpts
    from denpex_kb.render.picture.page import diagnosis_page

    text = diagnosis_page(diagnosis, lambda places: read_excerpts(places, inputs))
    try:
        _write(target, text)
    except OSError as error:
        raise InputError(f"--html {target}: cannot be written: {error.strerror or error}") from error
    err(f"denpex: {target} is written ({max(1, len(text) >> 10)} KiB); it needs nothing else to be read")
    if browser:
        import webbrowser

        webbrowser.open(target.resolve().as_uri())


def _may_be_made(path: Path) -> None:
    folder = path.parent
    if not folder.is_dir():
        raise InputError(f"--html {path}: there is no folder {folder}; make it first")
    if not os.access(folder, os.W_OK):
        raise InputError(f"--html {path}: cannot be written: no permission in {folder}")


def _is_ours(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            head = stream.read(_HEAD)
    except OSError as error:
        raise InputError(f"--html {path}: cannot be written: {error.strerror}") from error
    return not head or REPORT.encode() in head


def _write(target: Path, text: str) -> None:
    data = text.encode("utf-8", "replace")
    if target.exists() and not target.is_file():  # a pipe or a device
        target.write_bytes(data)
        return
    real = target.resolve()
    handle, name = tempfile.mkstemp(dir=real.parent, prefix=f".{real.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(real.stat().st_mode & 0o777 if real.exists() else 0o666 & ~mask)
        Path(name).replace(real)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
