"""A conversation without a terminal: the lines of a script or a pipe, one input each, a paste between triple quotes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import IO

from denpex_kb.errors import InputError
from denpex_kb.pipeline.question import looks_like_log
from denpex_kb.read.text import encoding_of, is_binary

MARK = '"""'
MOST = 256 << 20  # bytes that are read


def read_inputs(stream: IO[bytes]) -> tuple[list[tuple[str, bool]], bool]:
    """Read a script: texts, each with whether it is a paste, and whether the stream was longer than what is read.

    A stream that is a log as a whole is one paste, so that `command 2>&1 | denpex chat` does what one expects.

    Raises:
        InputError: it is no text.
    """
    data = stream.read(MOST + 1)
    if is_binary(data[:4096]):
        raise InputError("the input of the conversation is a binary file; for archives of logs: denpex diagnose PATH")
    cut = len(data) > MOST
    text = (
        data[:MOST]
        .decode(encoding_of(data), "replace")
        .removeprefix("\ufeff")
        .replace("\r\n", "\n")
        .replace("\r", "\n")
    )
    if MARK not in text and looks_like_log(text):
        return [(text, True)], cut
    return list(_inputs(text)), cut


def _inputs(text: str) -> Iterator[tuple[str, bool]]:
    block: list[str] | None = None
    for line in text.split("\n"):
        if line.strip() == MARK:
            if block is None:
                block = []
            else:
                yield "\n".join(block), True
                block = None
        elif block is not None:
            block.append(line)
        elif line.strip():
            yield line, False
    if block:
        yield "\n".join(block), True


def shown(text: str, *, pasted: bool, safe: Callable[[str], str]) -> str:
    """Write an input as the transcript repeats it."""
    if pasted or "\n" in text:
        count = text.count("\n") + 1
        return f"> [pasted {count:,} line{'s' * (count != 1)}]"
    return "> " + safe(text if len(text) <= 400 else text[:400] + " ...")
