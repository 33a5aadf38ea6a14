"""`denpex fix`: the fix fitted to the user's set-up, and written into the user's configs on request."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from denpex_kb.cli.console import Colour, Format, out, paper
from denpex_kb.cli.exits import Exit
from denpex_kb.cli.options import Catalogs, ColourOption, EntryId, FormatOption, Settings, open_kb
from denpex_kb.errors import InputError, UsageError


def fix(
    entry_id: EntryId,
    config: Annotated[
        list[Path] | None,
        typer.Option("--config", "-c", metavar="FILE", help="A config at hand (DeepSpeed, Accelerate, …)."),
    ] = None,
    settings: Settings = None,
    log: Annotated[
        list[Path] | None, typer.Option("--log", metavar="PATH", help="Take versions and settings from these logs.")
    ] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Change the configs; a copy of each is kept beside it (.bak).")
    ] = False,
    catalog: Catalogs = None,
    format: FormatOption = Format.TEXT,  # noqa: A002 (the option's name)
    color: ColourOption = Colour.AUTO,
) -> None:
    """Print the fix that fits your versions, framework, model and configs; as a diff where a config is at hand."""
    from denpex_kb.advise.edits import change_config, fit_edits, unfit_reasons
    from denpex_kb.advise.fix import fit_fix, fit_verification
    from denpex_kb.cli.setup import read_setup

    kb = open_kb(catalog)
    entry = kb.entry(entry_id)
    setup = read_setup(kb, settings or [], config or [], log or [])
    shared = kb.index.kb
    fitted = fit_fix(entry, setup.facts, shared, edited=[file.kind for file in setup.configs], observed=False)
    verify = fit_verification(entry, setup.facts, shared)
    changes = []
    for file in setup.configs if fitted.needed else ():
        if file.kind == "model":
            continue
        change = change_config(str(file.path), file.text, fit_edits(entry, file.kind, setup.facts, shared))
        reasons = [f"{file.path}: {reason}" for reason in unfit_reasons(entry, file.kind, setup.facts)]
        if not change.edits and not change.notes:
            reasons = reasons or [f"{file.path}: this entry's fix is no change of such a file"]
            change = type(change)(change.name, change.before, change.after, (), tuple(reasons))
        changes.append(change)
    said = _write(changes) if write else []
    if format is Format.JSON:
        from denpex_kb.render.json import to_json

        shown = [{"file": item.name, "diff": item.diff(), "notes": item.notes, "open": item.doubts} for item in changes]
        out(
            to_json(
                {
                    "schema": "denpex.fix/1",
                    "id": entry.id,
                    "fix": fitted,
                    "verify": verify,
                    "changes": shown,
                    "written": said,
                }
            )
        )
    elif format is Format.MARKDOWN:
        from denpex_kb.render.fixes import fix_markdown

        out(fix_markdown(entry, fitted, changes, verify))
    else:
        from denpex_kb.render.fixes import fix_text

        out(fix_text(entry, fitted, changes, verify, said, paper(color)))
    raise typer.Exit(Exit.RECOGNISED)


def _write(changes: Sequence[object]) -> list[str]:
    from denpex_kb.advise.edits import Change

    known = [change for change in changes if isinstance(change, Change) and change.changed]
    for change in known:
        if change.doubts:
            raise UsageError(f"{change.name} is not written before this is known:\n  " + "\n  ".join(change.doubts))
    said = []
    for change in known:
        kept = write_with_copy(Path(change.name), change.before, change.after)
        said.append(f"{change.name} is written; the former text is {kept}")
    return said


def write_with_copy(path: Path, before: str, after: str) -> Path:
    """Replace a file's text in one step, and keep the former text in a new file beside it.

    Raises:
        InputError: the file changed meanwhile, or cannot be written.
    """
    target = path.resolve()  # a link stays a link
    try:
        if target.read_bytes() != before.encode():
            raise InputError(f"{path} was changed meanwhile; nothing was written, run the command again")
        mode = stat.S_IMODE(target.stat().st_mode)
        kept = _keep(target, before.encode(), mode)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(after.encode())
                stream.flush()
                os.fsync(stream.fileno())
            Path(name).chmod(mode)
            Path(name).replace(target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error
    return kept


def _keep(target: Path, data: bytes, mode: int) -> Path:
    """Write the former text under the first free name: x.json.bak, and so on."""
    number = 0
    while True:
        kept = target.with_name(f"{target.name}.bak" + (f".{number}" if number else ""))
        try:
            with kept.open("xb") as stream:
                stream.write(data)
        except FileExistsError:
            number += 1
            continue
        kept.chmod(mode)
        return kept
