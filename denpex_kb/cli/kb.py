"""`denpex kb`: check, build, write and score the catalog."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from denpex_kb.cli.console import Format, err, out
from denpex_kb.cli.exits import Exit

app = typer.Typer(
    help="The gardener's tools: check, build, write and score the catalog.", no_args_is_help=True, rich_markup_mode=None
)


@app.command()
def check(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Catalog folders or single entries; the public catalog when left out.")
    ] = None,
    samples: Annotated[bool, typer.Option(help="Also run every sample through the matcher.")] = True,
) -> None:
    """Check entries: file:line, what is wrong, what to write instead."""
    from denpex_kb.cli.gardening import run_check

    findings, entries = run_check(paths or [], samples=samples)
    for finding in findings:
        out(f"{finding}\n")
    err(f"{entries} entries checked, {len(findings)} finding{'s' * (len(findings) != 1)}")
    raise typer.Exit(Exit.NOTHING if findings else Exit.RECOGNISED)


@app.command()
def build(
    target: Annotated[Path | None, typer.Argument(help="Where to write the index; the cache when left out.")] = None,
    catalog: Annotated[
        list[Path] | None, typer.Option("--catalog", metavar="DIR", help="A private catalog; may be repeated.")
    ] = None,
) -> None:
    """Compile catalog and kb into one index file."""
    from denpex_kb.cli.gardening import run_build

    out(run_build(target, catalog or []))


@app.command()
def new(
    entry_id: Annotated[str, typer.Argument(metavar="ID", help="The new entry's id: lower case, digits, hyphens.")],
    hub: Annotated[str, typer.Option(help="The hub, which is also the folder.")],
    catalog: Annotated[
        Path | None, typer.Option("--catalog", metavar="DIR", help="The catalog folder; the checkout's when left out.")
    ] = None,
    log: Annotated[
        Path | None, typer.Option("--from", metavar="LOG", help="Draft it from the log of the failure.")
    ] = None,
) -> None:
    """Lay out the file of a new entry; with --from, with signatures proposed from a log."""
    from denpex_kb.cli.gardening import run_new

    out(run_new(entry_id, hub, catalog, log))


@app.command()
def stats(format: Annotated[Format, typer.Option("--format", "-f", help="text or json.")] = Format.TEXT) -> None:  # noqa: A002
    """Show what the catalog covers, by hub, phase, kind and verification."""
    from denpex_kb.cli.gardening import run_stats

    out(run_stats(as_json=format is Format.JSON))


@app.command()
def score(
    corpus: Annotated[
        Path, typer.Argument(help="A folder with the parts dev/ and held-out/, or one part with cases.jsonl.")
    ],
    part: Annotated[str | None, typer.Option(help="Only this part.")] = None,
    form: Annotated[list[str] | None, typer.Option(help="Only cases of this form; may be repeated.")] = None,
    gate: Annotated[Path | None, typer.Option(help="A file of minimum figures; exit status 1 below them.")] = None,
    format: Annotated[Format, typer.Option("--format", "-f", help="text or json.")] = Format.TEXT,  # noqa: A002
) -> None:
    """Score the matcher on labelled cases."""
    from denpex_kb.cli.gardening import run_score

    def tell(case: str) -> None:
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{case}")

    text, below = run_score(corpus, part, form or [], gate, as_json=format is Format.JSON, progress=tell)
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
    out(text)
    for line in below:
        err(line)
    raise typer.Exit(Exit.NOTHING if below else Exit.RECOGNISED)
