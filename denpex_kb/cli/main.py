"""The Typer application."""

from __future__ import annotations

import copy
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from denpex_kb import __version__
from denpex_kb.cli import checking, fixing, preflight, reporting, verifying
from denpex_kb.cli import kb as kb_commands
from denpex_kb.cli import site as site_commands
from denpex_kb.cli.capturing import capture
from denpex_kb.cli.chatting import chat
from denpex_kb.cli.console import Colour, Format, drop_output, err, open_missing_streams, out, paper
from denpex_kb.cli.exits import Exit
from denpex_kb.cli.options import Catalogs, ColourOption, FormatOption, QuietOption, complete_ids, open_kb
from denpex_kb.cli.page import HtmlOption, OpenOption, page_target, write_page
from denpex_kb.errors import DenpexError

app = typer.Typer(
    name="denpex",
    help="Why a training run hangs or died: who began it, the fix, how to verify it. Nothing leaves this machine.",
    no_args_is_help=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(kb_commands.app, name="kb")
app.add_typer(site_commands.app, name="site")

_EXAMPLES = """denpex: why does this training run hang, and who began it?

  denpex ask "hang first forward mixtral zero3"     a question in words, or a pasted traceback
  denpex diagnose LOGDIR                            a log, a folder of per-rank logs, stack dumps; - reads a pipe
  denpex list --kind hang                           browse the catalog; denpex show ID prints an entry

denpex --help lists every command. Everything is done on this machine; nothing is uploaded.
"""


class _State:
    debug = False


def main() -> None:
    """Run the command line; every error becomes a message and an exit status."""
    open_missing_streams()
    try:
        status = _wanted(sys.argv[1:])(prog_name="denpex", standalone_mode=False)  # an Exit comes back as its status
    except SystemExit:
        raise
    except BaseException as error:  # the one edge where everything ends
        sys.exit(_report(error))
    sys.exit(status if isinstance(status, int) else 0)


def _wanted(arguments: list[str]) -> typer.Typer:
    """Return the application with the one command that is asked for: making all of them takes longer than an answer.

    Help, completion and mistyped commands get the whole application.
    """
    name = next((argument for argument in arguments if not argument.startswith("-")), None)
    commands = [
        command
        for command in app.registered_commands
        if name == (command.name or getattr(command.callback, "__name__", ""))
    ]
    groups = [group for group in app.registered_groups if group.name == name]
    if not (commands or groups) or "_DENPEX_COMPLETE" in os.environ:
        return app
    chosen = copy.copy(app)
    chosen.registered_commands = commands
    chosen.registered_groups = groups
    return chosen


def _is_path(text: str) -> bool:
    return "\0" not in text and os.path.exists(text)  # noqa: PTH110 (Path raises where a text is too long for a name)


def _first_word() -> str:
    """Return what stands where a command should; empty where it is one, or an option."""
    from denpex_kb.model.display import one_line

    first = sys.argv[1] if len(sys.argv) > 1 else ""
    known = {command.name or getattr(command.callback, "__name__", "") for command in app.registered_commands}
    return "" if first.startswith("-") or first in known | {"kb", "site"} else one_line(first)


def _report(error: BaseException) -> int:
    """Turn an exception into a message on standard error, and the exit status."""
    if _State.debug:
        import traceback

        traceback.print_exception(error)
    if isinstance(error, DenpexError):
        err(f"denpex: {error}")
        return Exit.UNUSABLE
    if isinstance(error, KeyboardInterrupt) or type(error).__name__ == "Abort":
        err("denpex: interrupted")
        return Exit.INTERRUPTED
    if isinstance(error, BrokenPipeError):
        drop_output()
        return Exit.RECOGNISED
    show = getattr(error, "format_message", None)
    if show is not None:  # click's usage errors, which know their own text
        context: Any = getattr(error, "ctx", None)
        err(f"denpex: {show().replace('Value error, ', '')}")  # pydantic's words, which say nothing to a user
        if (words := _first_word()) and _is_path(words):
            err(f"Logs go behind diagnose: denpex diagnose {words}")
        elif " " in words:
            err(f'A question goes behind ask: denpex ask "{words}"')
        if context is not None:
            err(f"Try '{context.command_path} --help'.")
        return Exit.UNUSABLE
    code = getattr(error, "exit_code", None)
    if isinstance(code, int) and type(error).__name__ == "Exit":
        return code
    err(f"denpex: a fault of the program itself: {type(error).__name__}: {error}")
    err("Run again with `denpex --debug …` for the traceback, and report it, please.")
    return Exit.FAULT


def _version(wanted: bool) -> None:
    if wanted:
        out(f"denpex {__version__}\n")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show a traceback when something goes wrong.")] = False,
    version: Annotated[  # noqa: ARG001 (its callback prints)
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    _State.debug = debug
    if context.invoked_subcommand is None:
        out(_EXAMPLES)


@app.command()
def ask(
    question: Annotated[
        list[str], typer.Argument(help="The question in words, or a pasted traceback; - reads standard input.")
    ],
    catalog: Catalogs = None,
    format: FormatOption = Format.TEXT,  # noqa: A002 (the option's name)
    color: ColourOption = Colour.AUTO,
    quiet: QuietOption = False,
) -> None:
    """Answer a question in words; a pasted log or traceback is recognised."""
    text = " ".join(question)
    if text == "-":
        text = _piped()
    elif _is_path(text):
        err(f"denpex: {text} is a file here; to read it: denpex diagnose {text}")
    kb = open_kb(catalog)
    _answer(kb.ask(text), format, color, quiet=quiet)


def _piped() -> str:
    """Read a question from standard input, in any encoding in which logs are read."""
    from denpex_kb.errors import InputError
    from denpex_kb.read.text import encoding_of, is_binary

    piped = sys.stdin.buffer.read()
    if is_binary(piped[:4096]):
        raise InputError("standard input: a binary file, not a question")
    return piped.decode(encoding_of(piped), "replace")


@app.command()
def diagnose(
    paths: Annotated[
        list[Path], typer.Argument(help="Logs, folders of per-rank logs, stack dumps, configs; - reads standard input.")
    ],
    catalog: Catalogs = None,
    hung: Annotated[bool, typer.Option("--hung", help="The job hangs: a log that just stops is not its end.")] = False,
    told: Annotated[
        str, typer.Option(metavar="WORDS", help='What else you know, e.g. "mixtral with zero3, deepspeed 0.16.9".')
    ] = "",
    jobs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Threads that scan; one for each processor if not given.")
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Watch logs that grow; report when the job fails or stalls.")
    ] = False,
    stall: Annotated[
        float, typer.Option(metavar="MINUTES", help="With --follow: silence that counts as a stall.", min=0.01)
    ] = 10.0,
    html: HtmlOption = None,
    browser: OpenOption = False,
    format: FormatOption = Format.TEXT,  # noqa: A002 (the option's name)
    color: ColourOption = Colour.AUTO,
    quiet: QuietOption = False,
) -> None:
    """Diagnose logs of any size: who began it, what is collateral, the fix, how to verify it."""
    from denpex_kb.cli import diagnosing

    target = page_target(html, wanted=browser)
    kb = open_kb(catalog)
    if follow:
        diagnosis, interrupted = diagnosing.follow(kb, paths, stall * 60.0, hung=hung, told=told)
    elif [str(path) for path in paths] == ["-"]:
        diagnosis, interrupted = diagnosing.read_pipe(kb, hung=hung, told=told)
    else:
        diagnosis, interrupted = diagnosing.read_paths(kb, paths, jobs, hung=hung, told=told)
    _print(diagnosis, format, color, quiet=quiet)
    if target is not None:  # after the answer, so that a full disk does not take it
        write_page(diagnosis, paths, target, browser=browser)
    _leave(diagnosis, interrupted=interrupted)


def _answer(diagnosis: Any, form: Format, colour: Colour, *, quiet: bool) -> None:
    _print(diagnosis, form, colour, quiet=quiet)
    _leave(diagnosis)


def _leave(diagnosis: Any, *, interrupted: bool = False) -> None:
    if interrupted:
        raise typer.Exit(Exit.INTERRUPTED)
    raise typer.Exit(Exit.RECOGNISED if diagnosis.recognised else Exit.NOTHING)


def _print(diagnosis: Any, form: Format, colour: Colour, *, quiet: bool) -> None:
    if form is Format.JSON:
        from denpex_kb.render.json import to_json

        out(to_json(diagnosis), cleaned=True)
    elif form is Format.MARKDOWN:
        from denpex_kb.render.markdown import diagnosis_markdown

        out(diagnosis_markdown(diagnosis), cleaned=True)
    else:
        from denpex_kb.render.terminal import render

        out(render(diagnosis, paper(colour), quiet=quiet), cleaned=True)


@app.command()
def show(
    entry_id: Annotated[
        str,
        typer.Argument(
            metavar="ID|PREFIX", help="An entry's id, an alias, or the beginning of ids.", autocompletion=complete_ids
        ),
    ],
    catalog: Catalogs = None,
    format: FormatOption = Format.TEXT,  # noqa: A002 (the option's name)
    color: ColourOption = Colour.AUTO,
    page: Annotated[bool, typer.Option("--open", help="Open the entry's page in the browser instead.")] = False,
) -> None:
    """Print an entry, or list the entries whose ids begin so."""
    from denpex_kb.cli.browse import show_entry

    if page:
        out(site_commands.open_page(open_kb(catalog).entry(entry_id).id, catalog or []))
        return
    show_entry(open_kb(catalog), entry_id, format, color)


@app.command(name="list")
def list_entries(
    hub: Annotated[str | None, typer.Option(help="Only this hub.")] = None,
    phase: Annotated[str | None, typer.Option(help="Only this phase of the run.")] = None,
    kind: Annotated[str | None, typer.Option(help="hang, crash, oom, slow, divergence or silent-wrong.")] = None,
    framework: Annotated[str | None, typer.Option(help="Only entries that affect this framework.")] = None,
    tag: Annotated[str | None, typer.Option(help="Only entries with this tag.")] = None,
    catalog: Catalogs = None,
    format: FormatOption = Format.TEXT,  # noqa: A002 (the option's name)
    color: ColourOption = Colour.AUTO,
) -> None:
    """List the entries of the catalog."""
    from denpex_kb.cli.browse import list_entries as run

    filters = {"hub": hub, "phase": phase, "kind": kind, "framework": framework, "tag": tag}
    run(open_kb(catalog), {key: value for key, value in filters.items() if value is not None}, format, color)


app.command()(capture)
app.command()(chat)
app.command()(fixing.fix)
app.command()(verifying.verify)
app.command()(checking.checklist)
app.command()(preflight.check)
app.command()(reporting.report)


@app.command()
def schema(
    what: Annotated[str, typer.Argument(help="diagnosis, entries, entry, whole-entry or check.")] = "diagnosis",
) -> None:
    """Print the JSON Schema of what other programs read, or of an entry's front matter."""
    from denpex_kb.render.json import json_schema

    out(json_schema(what))
