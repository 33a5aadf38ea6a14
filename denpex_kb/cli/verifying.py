"""`denpex verify`: show the verification, run it with the user's consent, or compare two runs."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from denpex_kb.cli.console import Colour, Format, err, out, paper
from denpex_kb.cli.exits import Exit
from denpex_kb.cli.options import Catalogs, ColourOption, EntryId, FormatOption, Settings, open_kb
from denpex_kb.errors import InputError, UsageError

if TYPE_CHECKING:
    from denpex_kb.advise.verification import Runnable
    from denpex_kb.api import KnowledgeBase
    from denpex_kb.model.entry import Entry

_SHOWN = 200  # lines of output that are printed at the end of a run


def verify(
    entry_id: EntryId,
    settings: Settings = None,
    config: Annotated[
        list[Path] | None, typer.Option("--config", "-c", metavar="FILE", help="A config at hand; may be repeated.")
    ] = None,
    run: Annotated[bool, typer.Option("--run", help="Run it, after showing it and asking.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="With --run: do not ask.")] = False,
    timeout: Annotated[float, typer.Option(help="With --run: seconds after which it is stopped.", min=1)] = 600,
    before: Annotated[
        list[Path] | None, typer.Option("--before", metavar="LOG", help="The log of the failed run; may be repeated.")
    ] = None,
    after: Annotated[
        list[Path] | None, typer.Option("--after", metavar="LOG", help="The log after the fix; may be repeated.")
    ] = None,
    catalog: Catalogs = None,
    format: FormatOption = Format.TEXT,  # noqa: A002 (the option's name)
    color: ColourOption = Colour.AUTO,
) -> None:
    """Show how to see that the fix worked; run it on request; or compare the logs before and after.

    With --before and --after the exit status is 0: the symptom is gone, 1: still there, 3: not reached yet.
    With --run it is 0: right, 1: wrong or stopped, 3: it ran, and a person has to read the outcome.
    """
    from denpex_kb.advise.fix import fit_verification
    from denpex_kb.advise.verification import make_runnable
    from denpex_kb.cli.setup import read_setup

    kb = open_kb(catalog)
    entry = kb.entry(entry_id)
    if before or after:
        if not (before and after):
            raise UsageError("--before and --after go together: the log of the failed run, and that after the fix")
        if run:
            raise UsageError("--run runs the check; --before and --after compare logs: choose one")
        _compare(kb, entry.id, before, after, format)
    setup = read_setup(kb, settings or [], config or [])
    fitted = fit_verification(entry, setup.facts, kb.index.kb)
    runnable = make_runnable(fitted, setup.words)
    if format is Format.JSON:
        from denpex_kb.render.json import to_json

        out(to_json({"schema": "denpex.verify/1", "id": entry.id, "verify": fitted, "launch": runnable.launch}))
    elif format is Format.MARKDOWN:
        from denpex_kb.render.fixes import verify_markdown

        out(verify_markdown(entry, fitted))
    else:
        from denpex_kb.render.fixes import verify_text

        launch = runnable.launch if runnable.name not in ("verify.sh", "verify.py") else ""
        out(verify_text(entry, fitted, launch, paper(color)))
    if run:
        raise typer.Exit(_run(entry, runnable, timeout, yes=yes))


def _compare(kb: KnowledgeBase, entry_id: str, before: list[Path], after: list[Path], form: Format) -> None:
    from denpex_kb.report.compare import compare_runs

    found = compare_runs(kb, entry_id, before, after)
    if form is Format.JSON:
        from denpex_kb.render.json import to_json

        out(
            to_json(
                {
                    "schema": "denpex.comparison/1",
                    "id": entry_id,
                    "result": found.result,
                    "why": found.why,
                    "before": found.before,
                    "after": found.after,
                    "other": found.other.id if found.other else None,
                }
            )
        )
    else:
        out(f"{found.result.upper()}  {found.why}\n")
        out(f"{entry_id}: the old run went {found.before}, the new one {found.after}.\n")
    raise typer.Exit(found.status)


def _run(entry: Entry, runnable: Runnable, timeout: float, *, yes: bool) -> int:
    """Run a verification once the user agrees; return the exit status."""
    from denpex_kb.advise.verification import judge, names_of_the_user

    if runnable.open:
        raise UsageError(
            f"not run: {', '.join(runnable.open)} must be filled in first"
            " (--set fact=value; a word in capitals: --set MODEL_DIR=/models/x)"
        )
    if runnable.name.endswith(".py") and (names := names_of_the_user(runnable.code)):
        raise UsageError(
            f"not run: this is a piece for your own script, where {', '.join(names[:5])} exist; paste it there"
        )
    if not yes and not _agreed(f"Run `{runnable.launch}` in {Path.cwd()}, for {timeout:g} s at most?"):
        err("denpex: not run")
        return Exit.UNUSABLE
    status, output, stopped = run_code(runnable, timeout)
    lines = output.splitlines()
    out("\n".join(lines[-_SHOWN:]) + "\n" * bool(lines))
    if stopped:
        out(f"WRONG  stopped after {timeout:g} s: a run that hangs here shows that the failure is still there\n")
        return Exit.NOTHING
    outcome, why = judge(entry.meta.result, status, output)
    out(f"{outcome.upper()}  {why}\n")
    return {"right": Exit.RECOGNISED, "wrong": Exit.NOTHING}.get(outcome, 3)


def _agreed(question: str) -> bool:
    """Ask; without a terminal nobody can agree."""
    if not sys.stdin.isatty():
        raise UsageError("not run: there is no terminal to ask on; read what it does, then add --yes")
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def run_code(runnable: Runnable, timeout: float) -> tuple[int, str, bool]:
    """Run the code in a process group of its own; returns status, output and whether the time ran out.

    Raises:
        InputError: there is no bash.
    """
    bash = shutil.which("bash")
    if bash is None:
        raise InputError("bash is needed to run a verification, and there is none")
    with tempfile.TemporaryDirectory(prefix="denpex-verify-") as folder:
        script = Path(folder) / runnable.name
        script.write_text(runnable.code + "\n", encoding="utf-8")
        command = runnable.launch.replace(runnable.name, str(script))
        with (Path(folder) / "output").open("w+b") as sink:
            process = subprocess.Popen(
                [bash, "-c", command], stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, start_new_session=True
            )
            stopped = False
            try:
                process.wait(timeout)
            except subprocess.TimeoutExpired:
                stopped = True
            finally:
                _end_group(process)
            sink.seek(0)
            output = sink.read().decode("utf-8", "replace")
    return process.returncode, output, stopped


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End whatever the command left behind: only its own process group."""
    for sign, patience in ((signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0)):
        try:
            os.killpg(process.pid, sign)
        except ProcessLookupError:
            break
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            continue
        if sign is signal.SIGTERM:
            continue
    process.wait()
