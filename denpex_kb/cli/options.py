"""Options that several commands share, and the knowledge base that they open."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from denpex_kb.cli.console import Colour, Format, err
from denpex_kb.errors import DenpexError, UsageError

if TYPE_CHECKING:
    from denpex_kb.api import KnowledgeBase

Catalogs = Annotated[
    list[Path] | None,
    typer.Option(
        "--catalog", metavar="DIR", help="A private catalog beside the public one; may be repeated.", show_default=False
    ),
]
FormatOption = Annotated[Format, typer.Option("--format", "-f", help="How to print the answer.")]
ColourOption = Annotated[Colour, typer.Option("--color", help="When to use colour.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print the verdict only.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="FACT=VALUE", help="State a fact, e.g. deepspeed.version=0.16.9; may be repeated."),
]


def complete_ids(incomplete: str) -> list[str]:
    """Complete an entry's id for the shell."""
    try:
        from denpex_kb.index.open import open_index

        return [entry_id for entry_id in open_index().ids() if entry_id.startswith(incomplete)]
    except (DenpexError, OSError):
        return []


EntryId = Annotated[str, typer.Argument(metavar="ID", help="An entry's id or alias.", autocompletion=complete_ids)]


def open_kb(catalogs: list[Path] | None) -> KnowledgeBase:
    """Open the knowledge base with the private catalogs of the user's config, the environment and the options.

    Later ones win: the options over the environment over the config file.
    """
    from denpex_kb.api import KnowledgeBase

    for folder in catalogs or ():
        if not folder.is_dir():
            raise UsageError(f"--catalog {folder}: no such folder; name the folder that holds the entries")
    folders, notices = configured_catalogs()
    folders += [Path(part) for part in os.environ.get("DENPEX_CATALOG", "").split(os.pathsep) if part]
    notices += [
        f"{folder}: no such folder of a private catalog; passed over" for folder in folders if not folder.is_dir()
    ]
    kb = KnowledgeBase.open([*folders, *(catalogs or [])])
    for notice in (*notices, *kb.index.notices):
        err(f"denpex: {notice}")
    return kb


def configured_catalogs() -> tuple[list[Path], list[str]]:
    """Return the catalogs that `config.toml` in the user's configuration folder names, and what is wrong with it."""
    path = config_file()
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return [], []
    except (OSError, UnicodeDecodeError) as error:
        return [], [f"{path}: cannot be read and is passed over: {error}"]
    import tomllib

    try:
        named = tomllib.loads(text).get("catalogs", [])
    except tomllib.TOMLDecodeError as error:
        return [], [f"{path}: no valid TOML and passed over: {error}"]
    if not isinstance(named, list) or not all(isinstance(item, str) for item in named):
        return [], [f'{path}: passed over: `catalogs` is a list of folders, e.g. catalogs = ["~/denpex-catalog"]']
    return [path.parent / Path(item).expanduser() for item in named], []


def config_file() -> Path:
    """Return the place of the user's config: `DENPEX_CONFIG`, or denpex/config.toml in the configuration folder."""
    wanted = os.environ.get("DENPEX_CONFIG")
    if wanted:
        return Path(wanted)
    return Path(typer.get_app_dir("denpex")) / "config.toml"
