"""`denpex capture`: collect what a silent job can tell."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from denpex_kb.cli.console import err, out
from denpex_kb.cli.exits import Exit


def capture(
    into: Annotated[
        Path | None, typer.Argument(metavar="FOLDER", help="The folder to write; denpex-capture-TIME when left out.")
    ] = None,
    pid: Annotated[list[int] | None, typer.Option(metavar="PID", help="Only this process; may be repeated.")] = None,
    slurm_job: Annotated[str | None, typer.Option(metavar="JOB", help="The nodes of a Slurm job.")] = None,
    host: Annotated[list[str] | None, typer.Option(metavar="HOST", help="A machine, by ssh; may be repeated.")] = None,
    pod: Annotated[
        list[str] | None, typer.Option(metavar="POD", help="A pod, by kubectl exec; may be repeated.")
    ] = None,
    namespace: Annotated[str | None, typer.Option(metavar="NAME", help="The pods' namespace.")] = None,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", help="After which a node counts as silent.")] = 120.0,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Collect stacks, traces and records of a job that hangs now; nothing is stopped, changed or sent."""
    from denpex_kb.capture.command import run_capture

    folder = into or Path(f"denpex-capture-{time.strftime('%Y%m%d-%H%M%S')}")
    done = run_capture(
        folder,
        pids=pid or (),
        job=slurm_job,
        hosts=host or (),
        pods=pod or (),
        namespace=namespace,
        timeout=timeout,
        yes=yes,
        tell=lambda line: out(line + "\n"),
        agree=_agree,
    )
    if done is None:
        err("denpex: nothing was collected; run it again with --yes, or answer y")
        raise typer.Exit(Exit.UNUSABLE)
    out(f"{folder}\nNow: denpex diagnose {folder} --hung\n")
    raise typer.Exit(Exit.RECOGNISED if done.complete else Exit.NOTHING)


def _agree() -> bool:
    if not sys.stdin.isatty():
        return False
    return typer.confirm("Run this?", default=False)
