"""The checks of `edits` and `result`: what a program does for the user must be right."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from denpex_kb.catalog.conditions import condition_faults
from denpex_kb.model.entry import Edit, Entry
from denpex_kb.model.facts import FactDeclaration

_PLACEHOLDER = re.compile(r"\{([a-z][\w.-]*)\}")
Report = Callable[[str, str], None]  # (path within the front matter, message)


def check_edits(entry: Entry, facts: Mapping[str, FactDeclaration], report: Report) -> None:
    """Check an entry's edits of config files and how its verification is read."""
    titles = {variant.title for variant in entry.body.fix.variants}
    for index, edit in enumerate(entry.meta.edits):
        for message in _faults(edit, facts, titles):
            report(f".edits[{index}]", message)
    if entry.meta.result is not None:
        for name, pattern in (("prints", entry.meta.result.prints), ("never", entry.meta.result.never)):
            try:
                re.compile(pattern or "")
            except re.error as error:
                report(".result", f"`{name}` is no regular expression: {error}")


def _faults(edit: Edit, facts: Mapping[str, FactDeclaration], titles: set[str]) -> list[str]:
    found = []
    if edit.remove and (edit.value is not None or edit.add):
        found.append(f"{edit.key}: `remove` takes no value and no `add`")
    if not edit.remove and edit.value is None:
        found.append(f"{edit.key}: needs a `value`, or `remove: true`")
    if edit.add and not isinstance(edit.value, list | str):
        found.append(f"{edit.key}: `add` wants a list, or a text of names separated by commas")
    found += [
        f"{edit.key}: the value has the placeholder {{{name}}}, which is no fact"
        for name in _PLACEHOLDER.findall(json.dumps(edit.value, default=str))
        if name not in facts
    ]
    if edit.variant is not None and edit.variant not in titles:
        found.append(f"{edit.key}: no variant of the fix is called {edit.variant!r}")
    for text in edit.when:
        found += [f"{edit.key}, when: {message}" for message in condition_faults(text, facts)]
    return found
