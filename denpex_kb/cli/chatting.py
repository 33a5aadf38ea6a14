"""`denpex chat`: a conversation on the terminal, or from a script."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from denpex_kb.cli.console import Colour, out, paper, wants_colour
from denpex_kb.cli.exits import Exit
from denpex_kb.cli.options import Catalogs, ColourOption, open_kb
from denpex_kb.errors import InputError

if TYPE_CHECKING:
    from denpex_kb.chat.conversation import Conversation, Reply


def chat(
    start: Annotated[
        list[str] | None, typer.Argument(help="What to begin with: words, or paths of logs.", show_default=False)
    ] = None,
    script: Annotated[
        Path | None,
        typer.Option("--script", metavar="FILE", help='Take the inputs from a file, one a line; """ encloses a paste.'),
    ] = None,
    catalog: Catalogs = None,
    color: ColourOption = Colour.AUTO,
) -> None:
    """Talk it through: tell what you see, answer the questions that decide, get the answer with its fix.

    On a terminal it asks until the answer stands out; help lists the commands. With --script or through a pipe it
    takes one input a line, and the exit status says whether a failure was recognised, as that of ask does.
    """
    from denpex_kb.chat.conversation import Conversation

    kb = open_kb(catalog)
    talk = Conversation(kb.index)
    first = _first(start or [])
    if script is not None or not (sys.stdin.isatty() and sys.stdout.isatty()):
        _scripted(talk, first, script, color)
        raise typer.Exit(Exit.RECOGNISED if talk.case.diagnosis.recognised else Exit.NOTHING)
    _terminal(talk, first, color)
    raise typer.Exit(Exit.RECOGNISED)


def _first(start: list[str]) -> str:
    """Put the arguments together: paths are quoted again, words are joined."""
    import shlex

    if start and all(os.path.exists(part) for part in start):  # noqa: PTH110 (Path raises where words are too long)
        return shlex.join(start)
    return " ".join(start)


def _show(reply: Reply, talk: Conversation, colour: Colour, *, last: bool = False) -> bool:
    """Print a reply; return whether the conversation goes on."""
    from denpex_kb.chat.record import save
    from denpex_kb.chat.speech import speak

    if reply.kind == "save":
        try:
            reply = type(reply)("note", f"{save(talk, reply.note)} is written; look through it before you send it.")
        except InputError as error:
            reply = type(reply)("note", str(error), trouble=True)
    text = speak(reply, talk, paper(colour), last=last)
    if text:
        out(text + "\n")
    sys.stdout.flush()
    return reply.kind != "quit"


def _scripted(talk: Conversation, first: str, script: Path | None, colour: Colour) -> None:
    from denpex_kb.chat.scripted import MOST, read_inputs, shown
    from denpex_kb.model.display import printable

    try:
        if script is not None:
            with script.open("rb") as stream:
                inputs, cut = read_inputs(stream)
        else:
            inputs, cut = read_inputs(sys.stdin.buffer)
    except OSError as error:
        raise InputError(f"{script or 'standard input'}: cannot be read: {error.strerror}") from error
    if not first and not inputs:
        raise InputError(f"{script or 'standard input'}: nothing is told in there; one input a line, or use a terminal")
    if cut:
        out(f"Only the first {MOST >> 20} MiB are read; for long logs: denpex diagnose PATH\n")
    for text, pasted in [*([(first, False)] if first else []), *inputs]:
        out(shown(text, pasted=pasted, safe=printable) + "\n\n")
        if not _show(talk.say(text, pasted=pasted), talk, colour):
            return
    _end(talk, colour)


def _end(talk: Conversation, colour: Colour) -> None:
    from denpex_kb.chat.conversation import Reply

    if talk.told:
        _show(Reply("summary"), talk, colour, last=True)


def _terminal(talk: Conversation, first: str, colour: Colour) -> None:
    from denpex_kb.chat.acts import COMMANDS
    from denpex_kb.chat.prompt import Prompt
    from denpex_kb.chat.speech import GREETING

    prompt = Prompt(COMMANDS, talk.index.ids, colour=wants_colour(colour))
    page = paper(colour)
    page.line(GREETING, "dim")
    out(page.text() + "\n")
    if first and not _heard(talk, first, colour, pasted=False):
        return
    while True:
        try:
            text, pasted = prompt.ask()
        except EOFError:
            break
        except KeyboardInterrupt:
            if prompt.typed:
                continue  # what was typed is dropped, the conversation is not
            break
        if not _heard(talk, text, colour, pasted=pasted):
            break
    _end(talk, colour)


def _heard(talk: Conversation, text: str, colour: Colour, *, pasted: bool) -> bool:
    out("\n")
    try:
        reply = talk.say(text, pasted=pasted)
    except KeyboardInterrupt:
        out("Stopped; nothing of it was taken.\n")
        return True
    return _show(reply, talk, colour)
