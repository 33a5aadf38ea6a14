"""One key of a config changed in its text, so that order, indent and comments stay; checked by reading the result."""

from __future__ import annotations

import copy
import json
from typing import Any

from denpex_kb.errors import DenpexError


class EditRefusedError(DenpexError):
    """The text cannot be changed safely; the message says why."""


def edit_text(name: str, text: str, key: str, value: object, *, remove: bool = False, add: bool = False) -> str:
    """Set one dotted key, remove it, or add to what stands there.

    Raises:
        EditRefusedError: the text cannot be read, or the change would touch more than the key.
    """
    steps = key.split(".")
    is_json = name.lower().endswith(".json")
    before = _load(text, is_json=is_json)
    if add:
        value = _joined(_at(before, steps), value)
    wanted = _changed(before, steps, value, remove=remove)
    if wanted == before:
        return text
    body = text.removeprefix("\ufeff")
    if is_json:
        from denpex_kb.advise.jsontext import change_json as change
    else:
        from denpex_kb.advise.yamltext import change_yaml as change
    newline = "\r\n" if "\r\n" in body else "\n"
    edited = change(body.replace("\r\n", "\n"), steps, value, remove=remove).replace("\n", newline)
    if _load(edited, is_json=is_json) != wanted:
        raise EditRefusedError("the file is laid out in a way that this program does not change safely")
    return text[: len(text) - len(body)] + edited


def _load(text: str, *, is_json: bool) -> Any:
    text = text.removeprefix("\ufeff")
    try:
        if is_json:
            data = json.loads(text, object_pairs_hook=_once)
        else:
            import yaml

            try:
                data = yaml.safe_load(text)
            except yaml.YAMLError as error:
                raise ValueError(" ".join(str(error).split())) from error
    except (ValueError, RecursionError) as error:
        raise EditRefusedError(f"it cannot be read: {error}") from error
    if data is None and not is_json:
        data = {}
    if not isinstance(data, dict):
        raise EditRefusedError("it holds no mapping at its top")
    return data


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found


def _at(data: Any, steps: list[str]) -> Any:
    for step in steps:
        data = data.get(step) if isinstance(data, dict) else None
    return data


def _joined(held: object, value: object) -> object:
    """Add to a list, or to names separated by commas; what stands there already is not repeated."""
    if isinstance(held, list) and isinstance(value, list):
        return [*held, *(item for item in value if item not in held)]
    if isinstance(held, str) and held and isinstance(value, str):
        return held if value in held.split(",") else f"{held},{value}"
    return value


def _changed(data: dict[str, Any], steps: list[str], value: object, *, remove: bool) -> dict[str, Any]:
    changed = copy.deepcopy(data)
    at: dict[str, Any] = changed
    for step in steps[:-1]:
        if at.get(step) is None:
            if remove:
                return changed
            at[step] = {}
        if not isinstance(at[step], dict):
            raise EditRefusedError(f"{step} is no mapping there")
        at = at[step]
    if remove:
        at.pop(steps[-1], None)
    else:
        at[steps[-1]] = value
    return changed
