"""`denpex site`: the catalog as a static site."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from denpex_kb.cli.console import err, out
from denpex_kb.errors import DenpexError

if TYPE_CHECKING:
    from denpex_kb.hub.build import Report, Request

app = typer.Typer(help="The catalog as a static site.", no_args_is_help=True, rich_markup_mode=None)

Output = Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Where the site goes.")]
Config = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Name, logo, address of the site (TOML).", show_default=False),
]
Catalogs = Annotated[
    list[Path] | None,
    typer.Option(
        "--catalog", metavar="DIR", help="A private catalog beside the public one; may be repeated.", show_default=False
    ),
]
Only = Annotated[bool, typer.Option("--only", help="Leave the public catalog out: only those given with --catalog.")]
BaseUrl = Annotated[
    str | None,
    typer.Option(
        "--base-url", metavar="URL", help="Where the site will stand; wins over the config.", show_default=False
    ),
]
Repository = Annotated[
    str | None,
    typer.Option(
        "--repository", metavar="URL", help="Where the catalog is edited; wins over the config.", show_default=False
    ),
]
Search = Annotated[bool, typer.Option("--search/--no-search", help="Index the pages with Pagefind.")]

DEFAULT_OUTPUT = Path("site/output")


@app.command()
def build(
    output: Output = DEFAULT_OUTPUT,
    config: Config = None,
    catalog: Catalogs = None,
    only: Only = False,
    base_url: BaseUrl = None,
    repository: Repository = None,
    search: Search = True,
) -> None:
    """Build the site; what did not change is left alone."""
    from denpex_kb.errors import UsageError
    from denpex_kb.hub.build import build_site

    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--output {output}: no folder can be made there: {error.strerror}") from error
    report = build_site(_request(output, config, catalog or [], base_url, repository, only=only, search=search))
    _tell(report)
    out(f"{output / 'index.html'}\n")


@app.command()
def serve(
    output: Output = DEFAULT_OUTPUT,
    config: Config = None,
    catalog: Catalogs = None,
    only: Only = False,
    search: Search = True,
    port: Annotated[int, typer.Option(help="The port on 127.0.0.1; 0 takes any free one.")] = 8000,
) -> None:
    """Build the site, show it on this machine, and build again when a source changes."""
    import sys
    import threading

    from denpex_kb.hub.build import build_site
    from denpex_kb.hub.serve import make_server, watch
    from denpex_kb.hub.sources import site_folder

    request = _request(output, config, catalog or [], None, None, only=only, search=search)
    _tell(build_site(request))
    server, changes = make_server(output, port)

    def again() -> None:
        try:
            _tell(build_site(request))
        except DenpexError as error:
            err(f"denpex: {error}")

    folder = site_folder()
    watched = [request.kb, *request.catalogs, folder / "templates", folder / "static", folder / "paste"]
    stop = threading.Event()
    threading.Thread(target=watch, args=(watched, again, changes, stop), daemon=True).start()
    out(f"http://127.0.0.1:{server.server_address[1]}/  (Ctrl+C ends)\n")
    sys.stdout.flush()  # also into a pipe, before it serves without end
    try:
        server.serve_forever()
    finally:
        stop.set()
        server.server_close()


def open_page(entry_id: str, catalogs: list[Path]) -> str:
    """Open an entry's page in the browser: of the site that DENPEX_SITE names, or of one built into the cache.

    Returns its address and a line feed, for terminals that have no browser.
    """
    import os
    import webbrowser

    from denpex_kb.hub.build import build_site
    from denpex_kb.index.places import cache_folder

    if published := os.environ.get("DENPEX_SITE"):
        address = f"{published.rstrip('/')}/e/{entry_id}/"
    else:
        output = cache_folder() / "site"
        build_site(_request(output, None, catalogs, None, None, only=False, search=False))
        address = (output / "e" / entry_id / "index.html").resolve().as_uri()
    webbrowser.open(address)
    return f"{address}\n"


def _request(
    output: Path,
    config: Path | None,
    catalogs: list[Path],
    base_url: str | None,
    repository: str | None,
    *,
    only: bool,
    search: bool,
) -> Request:
    import msgspec

    from denpex_kb.errors import UsageError
    from denpex_kb.hub.build import Request
    from denpex_kb.hub.config import load_config
    from denpex_kb.hub.sources import site_folder
    from denpex_kb.index.places import public_sources

    if only and not catalogs:
        raise UsageError("--only needs a --catalog")
    own = site_folder() / "site.toml"
    settings = load_config(config or (own if own.is_file() else None))
    if base_url is not None:
        settings = msgspec.structs.replace(settings, base_url=base_url)
    if repository is not None:
        settings = msgspec.structs.replace(settings, repository=repository)
    public = public_sources()
    folders = tuple(catalogs) if only else (*public.catalogs, *catalogs)
    return Request(output, public.kb, folders, settings, search)


def _tell(report: Report) -> None:
    for finding in report.findings:
        err(f"left out: {finding}")
    pages = report.pages
    err(
        f"{report.entries} entries; {pages.written} files written, {pages.unchanged} unchanged, {pages.removed} removed"
        f" in {report.seconds:.2f} s; {report.search}"
        + (f" in {report.search_seconds:.1f} s" if report.search_seconds > 0.05 else "")
    )
