"""Everything that the best hypothesis lets one say to the user."""

from __future__ import annotations

from msgspec import Struct

from denpex_kb.advise.fix import fit_fix, fit_verification
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


def advise(entry: Entry, facts: FactSet, kb: Kb) -> Advice:
    """Fit an entry's advice to the facts."""
    action = entry.meta.action
    return Advice(
        ActionAdvice(action.kind, action.text, action.restart_helps),
        fit_fix(entry, facts, kb),
        fit_verification(entry, facts, kb),
        tuple(Box(item.text, item.command) for item in entry.body.checklist),
    )
