"""`denpex report`: a summary without names and secrets, to hand to others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from denpex_kb.cli.console import err, out
from denpex_kb.cli.exits import Exit
from denpex_kb.cli.options import Catalogs, open_kb
from denpex_kb.errors import InputError


def report(
    paths: Annotated[list[Path], typer.Argument(help="Logs, folders of per-rank logs, stack dumps, configs.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it here instead of printing it.")
    ] = None,
    logs: Annotated[
        Path | None,
        typer.Option("--logs", metavar="DIR", help="Also write redacted copies of the logs into this folder."),
    ] = None,
    hung: Annotated[bool, typer.Option("--hung", help="The job hangs: a log that just stops is not its end.")] = False,
    catalog: Catalogs = None,
) -> None:
    """Write a redacted summary: hosts, users, paths, addresses, e-mail addresses and secrets are replaced."""
    from denpex_kb.report.summary import report as write

    kb = open_kb(catalog)
    text = write(kb, paths, hung=hung)
    if output is None:
        out(text)
    else:
        try:
            output.write_text(text, encoding="utf-8")
        except OSError as error:
            raise InputError(f"{output}: cannot be written: {error.strerror}") from error
        err(f"denpex: {output} is written; look through it before you send it")
    if logs is not None:
        from denpex_kb.report.copies import write_copies

        for copy in write_copies(kb, paths, logs):
            err(f"denpex: {copy}")
    raise typer.Exit(Exit.RECOGNISED)
