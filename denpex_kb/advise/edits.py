"""The fix as changes of the user's own config files: which edits fit, and the text that results."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from denpex_kb.advise.placeholders import Filler
from denpex_kb.advise.textedit import EditRefusedError, edit_text
from denpex_kb.model.conditions import Condition, holds, parse_condition
from denpex_kb.model.entry import Edit, Entry
from denpex_kb.model.facts import FactSet
from denpex_kb.model.kb import Kb


class FittedEdit(Struct, frozen=True):
    """An edit that fits a file, with the user's own values."""

    key: str
    value: object
    remove: bool = False
    add: bool = False
    open: dict[str, str] = {}  # placeholders that nobody filled in → how to find them
    unknown: tuple[str, ...] = ()  # conditions of which nothing is known


class Change(Struct, frozen=True):
    """What the fix makes of one config file."""

    name: str
    before: str
    after: str
    edits: tuple[FittedEdit, ...]
    notes: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether the text differs."""
        return self.before != self.after

    @property
    def doubts(self) -> tuple[str, ...]:
        """What must be known before the file may be written."""
        return tuple(
            dict.fromkeys(
                doubt
                for edit in self.edits
                for doubt in (*edit.unknown, *(f"{label} (find it with: {how})" for label, how in edit.open.items()))
            )
        )

    def diff(self) -> str:
        """Return the change as a unified diff; empty where nothing changes."""
        import difflib

        lines = difflib.unified_diff(
            self.before.splitlines(keepends=True),
            self.after.splitlines(keepends=True),
            self.name,
            f"{self.name} (fixed)",
        )
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def fit_edits(entry: Entry, kind: str, facts: FactSet, kb: Kb) -> list[FittedEdit]:
    """Return the edits for one kind of config file that nothing known speaks against."""
    fitted = []
    for edit in entry.meta.edits:
        conditions = [parse_condition(text) for text in (*edit.when, *_needs(entry, edit))]
        if edit.file != kind or any(holds(condition, facts) is False for condition in conditions):
            continue
        filler = Filler(facts, kb)
        value = filler.value(edit.value)
        unknown = tuple(_asked(item, kb) for item in conditions if holds(item, facts) is None)
        fitted.append(FittedEdit(edit.key, value, edit.remove, edit.add, filler.open, unknown))
    return fitted


def unfit_reasons(entry: Entry, kind: str, facts: FactSet) -> list[str]:
    """Say why edits for this kind of file do not fit: the conditions that are known not to hold."""
    reasons: dict[str, None] = {}
    for edit in entry.meta.edits:
        for condition in map(parse_condition, (*edit.when, *_needs(entry, edit))):
            if edit.file == kind and holds(condition, facts) is False:
                reasons.setdefault(f"{edit.key} needs {condition}")
    return list(reasons)


def change_config(name: str, text: str, edits: Sequence[FittedEdit]) -> Change:
    """Make the edits in a config's text; one that cannot be made safely is noted and left to the user."""
    after = text
    made: list[FittedEdit] = []
    notes: list[str] = []
    for edit in edits:
        try:
            after = edit_text(name, after, edit.key, edit.value, remove=edit.remove, add=edit.add)
        except EditRefusedError as refused:
            notes.append(f"{name}: {edit.key} has to be changed by hand: {refused}")
        else:
            made.append(edit)
    return Change(name, text, after, tuple(made), tuple(notes))


def _needs(entry: Entry, edit: Edit) -> tuple[str, ...]:
    """Return the needs of the variant that the edit carries out, which are its own too."""
    return next((variant.needs for variant in entry.body.fix.variants if variant.title == edit.variant), ())


def _asked(condition: Condition, kb: Kb) -> str:
    declared = kb.fact(condition.fact)
    find = f" (find it with: {declared.find})" if declared else ""
    return f"{condition}{find}; state it with --set {condition.fact}=…"
