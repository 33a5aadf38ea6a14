"""A diagnosis and a list of entries as JSON, and their published schemas."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from denpex_kb.errors import UsageError
from denpex_kb.model.diagnosis import Diagnosis
from denpex_kb.model.entry import Entry, FrontMatter, Summary
from denpex_kb.model.preflight import PreflightReport


class EntryList(msgspec.Struct, frozen=True):
    """What `denpex list --format json` prints."""

    schema: str
    entries: tuple[Summary, ...]


def to_json(value: object) -> str:
    """Write a value as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


def entry_list(entries: Sequence[Summary]) -> str:
    """Write a list of entries."""
    return to_json(EntryList("denpex.entries/1", tuple(entries)))


_SCHEMAS: dict[str, type] = {
    "diagnosis": Diagnosis,
    "entry": FrontMatter,
    "entries": EntryList,
    "whole-entry": Entry,
    "check": PreflightReport,
}


def json_schema(what: str) -> str:
    """Write a published schema.

    Raises:
        UsageError: there is no schema of that name.
    """
    if what not in _SCHEMAS:
        raise UsageError(f"no schema {what!r}; there are: {', '.join(_SCHEMAS)}")
    described = {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(_SCHEMAS[what])}
    return to_json(described)
