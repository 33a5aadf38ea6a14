"""Tracebacks as notebooks and rich draw them → frames and code as Python prints them."""

from __future__ import annotations

import re

_BOX_TOP = re.compile(
    r"^\s{0,8}[╭┌+][─-]{2,200} ?(?:\S.{0,60} )?Traceback \(most recent call last\) ?[─-]{0,200}[╮┐+]?\s*$"
)
_BOX_END = re.compile(r"^\s{0,8}[╰└+][─-]{10,300}[╯┘+]?\s*$")
_BOX_FRAME = re.compile(r"^(\S.{0,400}?):(\d{1,7}) in ([\w.<>]{1,200})$")
_BOX_CODE = re.compile(r"^[❱>] ?(\d{1,7}) (.*)$")
_NOTEBOOK_HEAD = re.compile(r"^([A-Za-z_][\w.]{0,120}) {2,}Traceback \(most recent call last\)\s*$")
_NOTEBOOK_FRAMES = (
    re.compile(r"^(?P<path>(?:File )?[/~\\<\w][^\n]{0,400}?):(?P<line>\d{1,7}), in (?P<function>\S.{0,2000})$"),
    re.compile(
        r"^(?P<path>(?:Cell In|Input In) ?\[\d{1,6}\]), "
        r"(?:line (?P<line>\d{1,7})(?:, )?)?(?:in (?P<function>\S.{0,2000}))?$"
    ),
    re.compile(
        r"^(?P<path>[/~][^\s()]{1,400}|[A-Z]:\\[^\n()]{1,400}?|<ipython-input-[\w-]{1,80}>) in "
        r"(?P<function>\S.{0,2000})$"
    ),
)
_NOTEBOOK_CODE = re.compile(r"^-{1,12}> ?(\d{1,7})(?: (.*))?$")
_NOTEBOOK_AROUND = re.compile(r"^\s{0,14}\d{1,7}(?: .*)?$")
_NAME = re.compile(r"^(?:[\w<>]{1,80}\.){0,8}(<?\w{1,120}>?)")
_MOST_JOINED = 4  # lines over which a narrow box spreads a frame


def _frame(path: str, line: str, function: str) -> str:
    """Write a frame as Python does; a function without its class and arguments."""
    name = _NAME.match(function)
    bare = name.group(1) if name is not None and not function.startswith("<cell") else "<module>"
    return f'  File "{path}", line {line}, in {bare}'


class Box:
    """A traceback in a box, as rich draws it."""

    def __init__(self) -> None:
        """Begin behind the top of the box."""
        self.done = False
        self._parts: list[str] = []  # of a frame that the box's width broke

    @classmethod
    def opened(cls, text: str) -> Box | None:
        """Return a box where a line is the top of one."""
        return cls() if _BOX_TOP.match(text) else None

    def take(self, text: str) -> str | None:
        """Return the frame or the code line that a line of the box holds; what else it holds says nothing."""
        if _BOX_END.match(text):
            self.done = True
            return ""
        bare = text.strip()
        if bare[:1] not in ("│", "|"):
            self.done = not bare.startswith(("╭", "╰"))
            return None
        inner = bare[1:].removesuffix("│").removesuffix("|").strip()
        code = _BOX_CODE.match(inner)
        if code is not None:
            self._parts = []
            return "    " + code.group(2).lstrip(" │")
        return self._framed(inner)

    def _framed(self, inner: str) -> str:
        if not inner or inner[0].isdigit() or inner[0] in "│╭╰":
            self._parts = []
            return ""
        if len(self._parts) >= _MOST_JOINED:
            self._parts = []
        self._parts.append(inner)
        joined = "".join(part + " " if re.search(r":\d+(?: in)?$", part) else part for part in self._parts)
        for candidate in (joined, inner):
            match = _BOX_FRAME.match(candidate)
            if match is not None:
                self._parts = []
                return _frame(match.group(1), match.group(2), match.group(3))
        return ""


class Notebook:
    """A traceback as IPython and Jupyter print it."""

    def __init__(self, exception: str) -> None:
        """Begin behind the head, which names the exception that the last line tells."""
        self.done = False
        self._last = re.compile(rf"^(?:\w+\.)*{re.escape(exception.rsplit('.', 1)[-1])}(?::|\s*$)")

    @classmethod
    def opened(cls, text: str) -> Notebook | None:
        """Return a notebook's traceback where a line is the head of one."""
        match = _NOTEBOOK_HEAD.match(text)
        return cls(match.group(1)) if match is not None else None

    def take(self, text: str) -> str | None:
        """Return the frame or the code line that a line is; code around the failing line says nothing."""
        if self._last.match(text):
            self.done = True
            return None
        code = _NOTEBOOK_CODE.match(text)
        if code is not None:
            return "    " + (code.group(2) or "").strip()
        if _NOTEBOOK_AROUND.match(text):
            return ""
        for shape in _NOTEBOOK_FRAMES:
            match = shape.match(text)
            if match is not None:
                line = match.groupdict().get("line") or "0"
                return _frame(match["path"].removeprefix("File "), line, match["function"] or "<module>")
        return None
