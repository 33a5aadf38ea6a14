"""Settings of any origin (a config file, arguments of a call, options of a command) → the facts that they state."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from denpex_kb.model.facts import ConfigKey, Conversion, Fact, FactDeclaration, FactValue, Origin
from denpex_kb.model.families import family_of
from denpex_kb.model.kb import Kb

LineOf = Callable[[str], int | None]


def stated(
    data: Mapping[str, Any],
    kind: str,
    name: str,
    kb: Kb,
    line_of: LineOf,
    *,
    origin: Origin = "config",
    named: bool = True,
    complete: bool = False,
) -> Iterator[Fact]:
    """Go through the facts that settings of a kind state.

    Args:
        data: the settings; nested mappings are reached by dotted keys.
        kind: what kind of settings they are (`file` of the config keys).
        name: the file's name, as shown to the user.
        kb: the declarations of the facts.
        line_of: finds the line of a dotted key.
        origin: where such facts come from.
        named: whether the user named the file.
        complete: whether a key that is not here is known not to be given; facts by `missing` need it.
    """
    for declaration in kb.facts:
        for key in declaration.config:
            if key.file is None or key.file == kind:
                yield from _one(declaration, key, data, name, kb, line_of, origin, named=named, complete=complete)


def _one(
    declaration: FactDeclaration,
    key: ConfigKey,
    data: Mapping[str, Any],
    name: str,
    kb: Kb,
    line_of: LineOf,
    origin: Origin,
    *,
    named: bool,
    complete: bool,
) -> Iterator[Fact]:
    raw = at(data, key.key)
    if not isinstance(raw, str | int | float | bool | list | tuple | dict | None):
        return  # known to the running program only
    if raw is None:
        if key.missing is not None and complete and key.key not in data:
            yield Fact(declaration.name, key.missing, origin, name, None, None, f"no {key.key}", named)
        return
    value = _value(raw, key, kb)
    if value is None or value == "auto":
        return
    if declaration.type == "int" and not isinstance(value, int):
        if not str(value).isdigit():
            return
        value = int(value)
    # a container may hold itself many times over (YAML's anchors): it is not written out
    said = f"{key.key}: {raw}"[:200] if isinstance(raw, str | int | float) else key.key
    yield Fact(declaration.name, value, origin, name, line_of(key.key), None, said, named)


def _value(raw: Any, key: ConfigKey, kb: Kb) -> FactValue | None:
    if isinstance(raw, list | tuple) and key.map:
        texts = [item.lower() for item in raw if isinstance(item, str)]
        return next((key.map[item] for item in texts if item in key.map), key.value if raw else None)
    if key.value is not None:
        empty = raw in ("", [], {}) or raw is False
        return None if empty else key.value
    if isinstance(raw, dict | list | tuple):
        return None
    return convert(raw, key.map, key.as_, kb)


def convert(raw: Any, mapping: Mapping[str, FactValue], how: Conversion | None, kb: Kb) -> FactValue | None:
    """Turn a literal into a fact's value; None where it states none."""
    if how == "family":
        family = family_of(str(raw), kb)
        return family.id if family else None
    if how == "count":
        return _count(str(raw))
    if how == "sign":
        raw = isinstance(raw, int | float) and raw > 0
    if mapping:
        return mapping.get(str(raw).lower())
    return raw if isinstance(raw, str | int | bool) else None


def _count(text: str) -> int | None:
    """Read the number of devices: `8`, `gpu:8`, `gpu:a100:8`."""
    found = re.fullmatch(r"(?:(?:gres/)?gpu:(?:[\w.-]+:)?|[A-Za-z][\w.-]*:)?(\d{1,4})(?:\([^)]*\))?", text.strip())
    return int(found.group(1)) if found else None


def at(data: Any, path: str) -> Any:
    """Return the value at a dotted path; None where it is not there."""
    for step in path.split("."):
        if not isinstance(data, Mapping) or step not in data:
            return None
        data = data[step]
    return data
