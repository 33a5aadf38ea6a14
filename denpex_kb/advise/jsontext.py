"""One key of a JSON text set or removed; every other character stays."""

from __future__ import annotations

import json
import re
from json.decoder import scanstring  # type: ignore[attr-defined]  # the standard library's own string reader

from msgspec import Struct

_SPACE = re.compile(r"[ \t\n\r]*")
_ATOM = re.compile(r"[^\s,\]}]+")


class _Member(Struct):
    key: str
    start: int  # of the key
    node: _Node


class _Node(Struct):
    start: int
    end: int
    members: list[_Member] | None = None  # of an object


def change_json(text: str, steps: list[str], value: object, *, remove: bool = False) -> str:
    """Set or remove the key below `steps`; the text is valid JSON with an object at its top."""
    node, _ = _read(text, _SPACE.match(text).end())  # type: ignore[union-attr]
    unit = _unit(text, node)
    for depth, step in enumerate(steps):
        assert node.members is not None
        found = next((member for member in node.members if member.key == step), None)
        last = depth == len(steps) - 1
        if found is None:
            return text if remove else _insert(text, node, steps[depth:], value, unit)
        if last:
            return _drop(text, node, found) if remove else _replace(text, found.node, value, unit)
        if found.node.members is None:  # null stands for nothing yet
            return _replace(text, found.node, _nested(steps[depth + 1 :], value), unit)
        node = found.node
    return text


def _read(text: str, at: int) -> tuple[_Node, int]:
    start = at
    if text[at] == '"':
        _, end = scanstring(text, at + 1, True)
        return _Node(start, end), end
    if text[at] in "{[":
        is_object = text[at] == "{"
        members: list[_Member] = []
        at = _skip(text, at + 1)
        while text[at] not in "}]":
            key, key_start = "", at
            if is_object:
                key, at = scanstring(text, at + 1, True)
                at = _skip(text, _skip(text, at) + 1)
            node, at = _read(text, at)
            members.append(_Member(key, key_start, node))
            at = _skip(text, at)
            if text[at] == ",":
                at = _skip(text, at + 1)
        return _Node(start, at + 1, members if is_object else None), at + 1
    atom = _ATOM.match(text, at)
    assert atom is not None
    return _Node(start, atom.end()), atom.end()


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    assert match is not None
    return match.end()


def _indent(text: str, at: int) -> str | None:
    """Return the blanks before a position, where nothing else stands before it on its line."""
    begin = text.rfind("\n", 0, at) + 1
    blanks = text[begin:at]
    return blanks if begin and not blanks.strip() else None


def _unit(text: str, top: _Node) -> str | None:
    """Return one step of indent; None where the whole text stands on one line."""
    if not top.members:
        return "  "
    return _indent(text, top.members[0].start)


def _replace(text: str, node: _Node, value: object, unit: str | None) -> str:
    line = text[text.rfind("\n", 0, node.start) + 1 : node.start]
    blanks = line[: len(line) - len(line.lstrip())]
    return text[: node.start] + _written(value, unit, blanks) + text[node.end :]


def _insert(text: str, node: _Node, steps: list[str], value: object, unit: str | None) -> str:
    value = _nested(steps[1:], value)
    key = json.dumps(steps[0], ensure_ascii=False)
    members = node.members or []
    if members:
        after = members[-1].node.end
        blanks = _indent(text, members[-1].start)
        if blanks is None:
            return f"{text[:after]}, {key}: {_written(value, None, '')}{text[after:]}"
        return f"{text[:after]},\n{blanks}{key}: {_written(value, unit, blanks)}{text[after:]}"
    line = text[text.rfind("\n", 0, node.start) + 1 : node.start]
    outer = line[: len(line) - len(line.lstrip())]
    if unit is None:
        return f"{text[: node.start]}{{{key}: {_written(value, None, '')}}}{text[node.end :]}"
    inner = outer + unit
    return f"{text[: node.start]}{{\n{inner}{key}: {_written(value, unit, inner)}\n{outer}}}{text[node.end :]}"


def _drop(text: str, node: _Node, member: _Member) -> str:
    members = node.members or []
    index = members.index(member)
    if len(members) == 1:
        return text[: node.start] + "{}" + text[node.end :]
    if index + 1 < len(members):
        return text[: member.start] + text[members[index + 1].start :]
    return text[: members[index - 1].node.end] + text[member.node.end :]


def _nested(steps: list[str], value: object) -> object:
    for step in reversed(steps):
        value = {step: value}
    return value


def _written(value: object, unit: str | None, blanks: str) -> str:
    """Write a value; objects go over several lines where the text around does, lists stay on one."""
    if isinstance(value, dict) and value and unit is not None:
        inner = blanks + unit
        members = ",\n".join(
            f"{inner}{json.dumps(key, ensure_ascii=False)}: {_written(item, unit, inner)}"
            for key, item in value.items()
        )
        return f"{{\n{members}\n{blanks}}}"
    return json.dumps(value, ensure_ascii=False)
