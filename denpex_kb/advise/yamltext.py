"""One key of a YAML text set or removed; comments, order and quoting of all other lines stay."""

from __future__ import annotations

import json
import re
from typing import Any

import yaml

from denpex_kb.advise.textedit import EditRefusedError

_PLAIN = re.compile(r"^[A-Za-z_][\w./-]*$")
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


def change_yaml(text: str, steps: list[str], value: object, *, remove: bool = False) -> str:
    """Set or remove the key below `steps`; the text is YAML with a mapping at its top.

    Raises:
        EditRefusedError: the place is an alias, or a mapping is laid out so that it cannot be changed by lines.
    """
    node: Any = yaml.compose(text, Loader=yaml.SafeLoader)
    if node is None:
        return text if remove else _ended(text) + _block(_nested(steps, value), "")
    if "&" in text and _has_alias(text):
        raise EditRefusedError("it uses anchors and aliases")
    for depth, step in enumerate(steps):
        if not isinstance(node, yaml.MappingNode):
            raise EditRefusedError(f"{step} would have to stand in something that is no mapping")
        pair = next(((key, held) for key, held in node.value if key.value == step), None)
        if pair is None:
            return text if remove else _insert(text, node, _nested(steps[depth:], value))
        key, held = pair
        if depth == len(steps) - 1:
            return _drop(text, node, key, held) if remove else _replace(text, key, held, value)
        if isinstance(held, yaml.ScalarNode) and held.tag.endswith(":null"):
            return _replace(text, key, held, _nested(steps[depth + 1 :], value))
        node = held
    return text


def _has_alias(text: str) -> bool:
    return any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=yaml.SafeLoader))


def _last(node: Any) -> Any:
    """Return the last leaf below a node: block mappings end far behind it, at the next token."""
    while not isinstance(node, yaml.ScalarNode) and not node.flow_style and node.value:
        node = node.value[-1][1] if isinstance(node, yaml.MappingNode) else node.value[-1]
    return node


def _line_end(text: str, at: int) -> int:
    """Return the end of the line on which a value ends; a block scalar ends behind its own line feed."""
    if at and text[at - 1] == "\n":
        return at - 1
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _replace(text: str, key: Any, held: Any, value: object) -> str:
    leaf = _last(held)
    start = text.index(":", key.end_mark.index) + 1
    end = leaf.end_mark.index
    if text[start:end].endswith("\n"):
        end -= 1
    return f"{text[:start]} {_flow(value)}{text[end:]}"


def _insert(text: str, node: Any, value: object) -> str:
    assert isinstance(value, dict)
    if node.flow_style:
        end = node.end_mark.index - 1
        inner = ", ".join(f"{_scalar(key)}: {_flow(item)}" for key, item in value.items())
        before = text[:end].rstrip(" ,") if node.value else text[:end]
        return f"{before}{', ' if node.value else ''}{inner}{text[end:]}"
    blanks = " " * node.start_mark.column
    end = _line_end(text, _last(node).end_mark.index)
    return f"{text[:end]}\n{_block(value, blanks).rstrip(chr(10))}{text[end:] or chr(10)}"


def _drop(text: str, node: Any, key: Any, held: Any) -> str:
    if node.flow_style:
        raise EditRefusedError("the key stands in a mapping on one line")
    begin = text.rfind("\n", 0, key.start_mark.index) + 1
    end = _line_end(text, _last(held).end_mark.index)
    return text[:begin] + text[end + 1 :]


def _nested(steps: list[str], value: object) -> object:
    for step in reversed(steps):
        value = {step: value}
    return value


def _block(value: object, blanks: str) -> str:
    assert isinstance(value, dict)
    lines = ""
    for key, item in value.items():
        if isinstance(item, dict) and item:
            lines += f"{blanks}{_scalar(key)}:\n{_block(item, blanks + '  ')}"
        else:
            lines += f"{blanks}{_scalar(key)}: {_flow(item)}\n"
    return lines


def _flow(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_scalar(key)}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return _scalar(value)


def _scalar(value: object) -> str:
    if isinstance(value, str) and _PLAIN.match(value) and value.lower() not in _WORDS:
        return value
    return json.dumps(value, ensure_ascii=False)


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"
