"""`denpex check`: what a set-up will run into, before it burns GPU hours."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from denpex_kb import __version__
from denpex_kb.cli.console import Colour, err, out, paper
from denpex_kb.cli.exits import Exit
from denpex_kb.cli.options import Catalogs, ColourOption, Settings, open_kb

if TYPE_CHECKING:
    from denpex_kb.model.preflight import PreflightReport


class CheckFormat(StrEnum):
    """How to print the findings."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    GITHUB = "github"


CheckFormatOption = Annotated[CheckFormat, typer.Option("--format", "-f", help="How to print the findings.")]


def check(
    paths: Annotated[
        list[Path],
        typer.Argument(help="A project's folder, or its scripts, configs, launch scripts, manifests, requirements."),
    ],
    settings: Settings = None,
    env: Annotated[
        Path | None, typer.Option("--env", metavar="DIR", help="The virtual environment whose versions will run.")
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option("--ignore", metavar="ID", help="Leave this entry out; may be repeated.")
    ] = None,
    catalog: Catalogs = None,
    format: CheckFormatOption = CheckFormat.TEXT,  # noqa: A002 (the option's name)
    color: ColourOption = Colour.AUTO,
) -> None:
    """Warn of failures that a set-up will run into: nothing is imported or run. Status 1 with findings, 0 without."""
    from denpex_kb.advise.settings import read_settings
    from denpex_kb.check.run import check_paths

    kb = open_kb(catalog)
    stated, _ = read_settings(settings or [], kb.index.kb)
    report = check_paths(paths, kb.index, stated=stated, environment=env, ignored=ignore or [])
    _print(report, format, color)
    raise typer.Exit(Exit.NOTHING if report.findings else Exit.RECOGNISED)


def _print(report: PreflightReport, form: CheckFormat, colour: Colour) -> None:
    from denpex_kb.render.findings import findings_github, findings_sarif, findings_text, summary_lines
    from denpex_kb.render.json import to_json

    if form is CheckFormat.JSON:
        out(to_json(report))
    elif form is CheckFormat.SARIF:
        out(findings_sarif(report, __version__))
    elif form is CheckFormat.GITHUB:
        out(findings_github(report))
    else:
        out(findings_text(report, paper(colour)))
        for line in summary_lines(report):
            err(line)
