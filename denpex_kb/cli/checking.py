"""`denpex checklist`: an entry's boxes, ticked one by one on a terminal, kept in a file, exported for a ticket."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from denpex_kb.cli.console import Colour, Format, err, out, paper
from denpex_kb.cli.exits import Exit
from denpex_kb.cli.options import Catalogs, ColourOption, EntryId, FormatOption, Settings, open_kb
from denpex_kb.errors import InputError, UsageError

if TYPE_CHECKING:
    from denpex_kb.advise.checklist import State
    from denpex_kb.model.diagnosis import Box
    from denpex_kb.model.entry import Entry
    from denpex_kb.render.paper import Paper

_SCHEMA = "denpex.checklist-state/1"
_KEYS: dict[str, State] = {
    "y": "seen",
    "s": "seen",
    "seen": "seen",
    "yes": "seen",
    "n": "not seen",
    "no": "not seen",
    "not seen": "not seen",
    "k": "skipped",
    "skip": "skipped",
    "skipped": "skipped",
    "": "skipped",
}


def checklist(
    entry_id: EntryId,
    settings: Settings = None,
    state: Annotated[
        Path | None, typer.Option("--state", metavar="FILE", help="Keep the answers here, and go on from them.")
    ] = None,
    catalog: Catalogs = None,
    format: FormatOption = Format.TEXT,  # noqa: A002 (the option's name)
    color: ColourOption = Colour.AUTO,
) -> None:
    """Test an entry box by box: asks on a terminal, prints the boxes where there is none."""
    from denpex_kb.advise.advice import fit_checklist
    from denpex_kb.advise.checklist import resumed
    from denpex_kb.cli.setup import read_setup

    kb = open_kb(catalog)
    entry = kb.entry(entry_id)
    setup = read_setup(kb, settings or [])
    boxes = resumed(fit_checklist(entry, setup.facts, kb.index.kb), _read(state, entry.id))
    if format is Format.TEXT and sys.stdin.isatty() and sys.stdout.isatty():
        boxes = _dialogue(entry, boxes, state, color)
    out(_shown(entry, boxes, format, color))
    raise typer.Exit(Exit.RECOGNISED)


def _shown(entry: Entry, boxes: Sequence[Box], form: Format, colour: Colour) -> str:
    from denpex_kb.advise.checklist import stand

    standing = stand(boxes)
    summary = "" if all(box.state == "open" for box in boxes) else summarise(entry, boxes)
    if form is Format.JSON:
        from denpex_kb.render.json import to_json

        return to_json(
            {
                "schema": "denpex.checklist/1",
                "id": entry.id,
                "title": entry.meta.title,
                "checklist": boxes,
                "confidence": standing.confidence,
                "standing": standing.standing,
            }
        )
    if form is Format.MARKDOWN:
        from denpex_kb.render.checklists import checklist_markdown

        return checklist_markdown(entry, boxes, summary)
    from denpex_kb.render.checklists import checklist_text

    return checklist_text(entry, boxes, summary, paper(colour))


def summarise(entry: Entry, boxes: Sequence[Box]) -> str:
    """Say in one sentence where the hypothesis stands, and where to look when it is refuted."""
    from denpex_kb.advise.checklist import stand

    standing = stand(boxes)
    text = f"{standing.standing.capitalize()} ({standing.confidence:.0%}): {standing.why}."
    if standing.standing == "refuted" and entry.meta.lookalikes:
        near = "; ".join(f"{item.id}: {item.sign}" for item in entry.meta.lookalikes[:3])
        text += f" Look at {near}."
    return text


def _dialogue(entry: Entry, boxes: Sequence[Box], state: Path | None, colour: Colour) -> tuple[Box, ...]:
    def ask(prompt: str) -> str:
        out(prompt)
        sys.stdout.flush()
        line = sys.stdin.readline()
        return line.strip() if line else "q"

    return walk(entry, boxes, ask, lambda: paper(colour), lambda now: _keep(state, entry.id, now))


def walk(
    entry: Entry,
    boxes: Sequence[Box],
    ask: Callable[[str], str],
    sheet: Callable[[], Paper],
    keep: Callable[[Sequence[Box]], None],
) -> tuple[Box, ...]:
    """Ask for every open box; each answer is kept at once.

    Args:
        entry: the entry under test.
        boxes: its boxes, some answered already.
        ask: prints a prompt and returns the answer.
        sheet: gives an empty sheet.
        keep: saves the answers so far.
    """
    from denpex_kb.advise.checklist import answered, kind_of, stand
    from denpex_kb.render.checklists import box_text

    now = tuple(boxes)
    index = 0
    while index < len(now):
        if now[index].state != "open":
            index += 1
            continue
        page = sheet()
        box_text(index + 1, now[index], page)
        if kind_of(now[index]) == "control":
            page.line("Seen means: the outcome that refutes it was seen.", "dim", 4)
        said = ask(f"{page.text()}    seen, not seen, skip, back, quit [s/n/k/b/q]? ").lower()
        if said in ("q", "quit"):
            break
        if said in ("b", "back"):
            index = max(index - 1, 0)
            now = answered(now, index, "open")
            continue
        if said not in _KEYS:
            ask_again = sheet()
            ask_again.line("s: seen, n: not seen, k: skip, b: back, q: quit (--state keeps the answers)", "warn")
            out(ask_again.text())
            continue
        now = answered(now, index, _KEYS[said])
        keep(now)
        page = sheet()
        page.line(f"    {summarise(entry, now)}", "dim", 4)
        out(page.text())
        if stand(now).standing == "refuted":
            break
        index += 1
    return now


def _read(path: Path | None, entry_id: str) -> dict[str, State]:
    import msgspec

    if path is None or not path.exists():
        return {}
    try:
        kept = msgspec.json.decode(path.read_bytes())
        if kept["schema"] != _SCHEMA:
            raise InputError(f"{path}: no answers of a checklist; give another file with --state")
        if kept["id"] != entry_id:
            raise UsageError(f"{path} holds the answers of {kept['id']}; give another file for {entry_id}")
        return {str(text): said for text, said in kept["answers"].items() if said in set(_KEYS.values())}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{path}: no answers of a checklist ({error}); give another file with --state") from error


def _keep(path: Path | None, entry_id: str, boxes: Sequence[Box]) -> None:
    if path is None:
        return
    from denpex_kb.index.open import write_atomically
    from denpex_kb.render.json import to_json

    answers = {box.text: box.state for box in boxes if box.state != "open"}
    try:
        write_atomically(path, to_json({"schema": _SCHEMA, "id": entry_id, "answers": answers}).encode())
    except OSError as error:
        err(f"denpex: {path}: cannot be written: {error.strerror}; the answers are not kept")
