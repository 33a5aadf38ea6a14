"""The closed list of code observations: `code.shape` of kb/facts, each value found by one function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from denpex_kb.check.program import Program


class Hit(NamedTuple):
    """A line of the program's main file that shows a shape."""

    line: int
    text: str


Shape = Callable[[Program], Iterator[Hit]]
SHAPES: dict[str, Shape] = {}


def shape(name: str) -> Callable[[Shape], Shape]:
    """Register the function that finds a value of `code.shape`."""

    def register(function: Shape) -> Shape:
        SHAPES[name] = function
        return function

    return register
