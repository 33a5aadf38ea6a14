"""YAML with line numbers: text → typed object, or findings that name the line."""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec
import yaml

from denpex_kb.catalog.findings import FileBroken, Finding

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_STEP = re.compile(r"\.([A-Za-z_]\w*)|\[(\d+)\]")
T = TypeVar("T")


def read(text: str, file: str, kind: type[T], first_line: int = 1) -> T:
    """Read YAML text as one typed object.

    Args:
        text: the YAML document.
        file: the name that findings carry.
        kind: any type that msgspec can convert to.
        first_line: the line of the file at which the text begins.

    Raises:
        FileBroken: the YAML is malformed, or does not fit the type.
    """
    try:
        data = yaml.load(text, Loader=_Loader)  # noqa: S506 (a safe loader, in C where there is one)
    except yaml.MarkedYAMLError as error:
        line = first_line + (error.problem_mark.line if error.problem_mark else 0)
        raise FileBroken(
            [Finding(file, line, f"malformed YAML: {error.problem}; quote the value or mend the indent")]
        ) from error
    except yaml.YAMLError as error:
        raise FileBroken([Finding(file, first_line, f"malformed YAML: {error}")]) from error
    try:
        return msgspec.convert(data, kind, strict=False)
    except msgspec.ValidationError as error:
        path = re.search(r"at `\$(\S*)`$", str(error))
        steps = path.group(1) if path else ""
        message = re.sub(r" - at `\S*`$", "", str(error))
        if unknown := re.search(r"unknown field `(\w+)`", message):
            steps += f".{unknown.group(1)}"
        where = f"`{steps.lstrip('.')}`: " if steps else ""
        raise FileBroken([Finding(file, first_line + line_of(text, steps), where + _plainly(message))]) from error


_SHAPES = {
    "^[a-z0-9]+(-[a-z0-9]+)*$": "write it in lower case, with digits and hyphens, e.g. my-failure",
    r"^https://\\S+$": "write a whole address that begins with https://",
}


def _plainly(message: str) -> str:
    """Say what to write instead, where the message alone does not."""
    for shape, advice in _SHAPES.items():
        if shape in message:
            return advice
    if re.search(r"Expected `str.*got `(float|int|bool|date)`", message):
        return f"{message}; put the value into quotes"
    return message


def line_of(text: str, path: str) -> int:
    """Return the line (from 0) at which the value under a path such as `.signatures[0].strength` begins."""
    try:
        node = yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError:
        return 0  # the file was changed since it was read
    line = 0
    for name, index in _STEP.findall(path):
        if isinstance(node, yaml.MappingNode) and name:
            found = next(((key, value) for key, value in node.value if key.value == name), None)
            if found is None:
                break
            line, node = found[0].start_mark.line, found[1]
        elif isinstance(node, yaml.SequenceNode) and index and int(index) < len(node.value):
            node = node.value[int(index)]
            line = node.start_mark.line
        else:
            break
    return line
