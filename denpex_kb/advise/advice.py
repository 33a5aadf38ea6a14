"""Everything that the best hypothesis lets one say to the user."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from denpex_kb.advise.action import entry_action
from denpex_kb.advise.fix import fit_fix, fit_verification
from denpex_kb.advise.placeholders import Filler
from denpex_kb.model.diagnosis import ActionAdvice, Box, FixAdvice, VerifyAdvice
from denpex_kb.model.entry import Entry
from denpex_kb.model.facts import FactSet
from denpex_kb.model.kb import Kb


class Advice(Struct, frozen=True):
    """Action, fix, verification and checklist for one entry and one set of facts."""

    action: ActionAdvice
    fix: FixAdvice
    verify: VerifyAdvice
    checklist: tuple[Box, ...]


def advise(entry: Entry, facts: FactSet, kb: Kb, targets: Sequence[str] = ()) -> Advice:
    """Fit an entry's advice to the facts; the action names the targets."""
    return Advice(
        entry_action(entry, targets),
        fit_fix(entry, facts, kb),
        fit_verification(entry, facts, kb),
        fit_checklist(entry, facts, kb),
    )


def fit_checklist(entry: Entry, facts: FactSet, kb: Kb) -> tuple[Box, ...]:
    """Return the entry's boxes with the user's names filled in."""
    filler = Filler(facts, kb)
    return tuple(
        Box(filler.fill(item.text), filler.fill(item.command) if item.command else None)
        for item in entry.body.checklist
    )
