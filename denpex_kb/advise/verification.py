"""The verification of an entry as something that can be run: files, command, how the outcome is read."""

from __future__ import annotations

import ast
import builtins
import re
import shlex
from typing import Literal

from msgspec import Struct

from denpex_kb.errors import UsageError
from denpex_kb.model.diagnosis import VerifyAdvice
from denpex_kb.model.entry import VerifyResult

_HEADER = re.compile(r"^#\s*([\w.-]+\.(?:py|sh)):\s+(\S.*)$")
# Words in capitals that stand for something of the user's own.
_CAPITALS = re.compile(
    r"(?<![\w$={-])((?:[A-Z]+_)*(?:DIR|PATH|CKPT|LOG|LOGS|FILE|FOLDER|MODEL|PID|HOST|NODE|URL|PORT|NAME|ID|IP|JOBID|DATA"
    r"|CONFIG|SCRIPT))(?![\w=:])"
)
_HOSTILE = re.compile(r"[\"'`$;|&<>\\\n\r]")
_LABEL = re.compile(r"<[a-z][\w./-]*(?:-[\w./-]+)*>", re.IGNORECASE)

Outcome = Literal["right", "wrong", "unread"]


class Runnable(Struct, frozen=True):
    """What `verify --run` would do."""

    name: str  # the file that the code is written to
    code: str
    launch: str  # the command, for a shell
    open: tuple[str, ...] = ()  # words of the command that nobody has filled in


def make_runnable(verify: VerifyAdvice, words: dict[str, str]) -> Runnable:
    """Turn a verification into a file and the command that starts it.

    A first line `# name.py: command …` names both; else the code itself is run by its interpreter.

    Args:
        verify: the fitted verification.
        words: words in capitals → what to put in their place.

    Raises:
        UsageError: a word's value could end a quotation or a command.
    """
    code = _filled(verify.command, words)
    header = _HEADER.match(code.split("\n", 1)[0])
    if header:
        launch = header.group(2)
        return Runnable(header.group(1), code, launch, _open(launch, code, is_shell=False))
    if verify.language in ("python", "py"):
        return Runnable("verify.py", code, "python verify.py", _open("", code, is_shell=False))
    return Runnable("verify.sh", code, "bash -e -o pipefail verify.sh", _open(code, code, is_shell=True))


def _filled(text: str, words: dict[str, str]) -> str:
    for word, value in words.items():
        if _HOSTILE.search(value):
            raise UsageError(f"--set {word}: quotes, $, ;, |, &, <, > and backslashes cannot be filled into a command")
        quoted = shlex.quote(value)
        text = re.sub(rf"(?<![\w$]){re.escape(word)}(?!\w)", lambda _, quoted=quoted: quoted, text)  # type: ignore[misc]
    return text


def _open(command: str, code: str, *, is_shell: bool) -> tuple[str, ...]:
    """Name what must be filled in: labels such as <class-of-the-MoE-block>, and words in capitals of a command."""
    found = _LABEL.findall(code if is_shell else command)
    found += _CAPITALS.findall(re.sub(r"(?m)(?:^|\s)#.*$", "", command))
    return tuple(dict.fromkeys(found))


def names_of_the_user(code: str) -> list[str]:
    """Return the names that a piece of Python takes for granted: it then belongs into the user's own script."""
    tree = ast.parse(code)
    defined = set(dir(builtins)) | {"__file__"}
    used: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                used.setdefault(node.id)
            else:
                defined.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            defined |= {(item.asname or item.name).partition(".")[0] for item in node.names}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            defined.add(node.name)
        elif isinstance(node, ast.arg):
            defined.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            defined.add(node.name)
    return [name for name in used if name not in defined]


def judge(result: VerifyResult | None, status: int, output: str) -> tuple[Outcome, str]:
    """Read the outcome the way the entry says; `unread` where it does not say how."""
    if result is None:
        return "unread", f"the command ended with status {status}; compare what it printed with what is expected"
    if result.never:
        bad = re.search(result.never, output, re.MULTILINE)
        if bad:
            return "wrong", f"the output holds {bad.group(0)!r}, which must not be there"
    if result.status is not None and status != result.status:
        return "wrong", f"the command ended with status {status}, not {result.status}"
    if result.prints:
        good = re.search(result.prints, output, re.MULTILINE)
        if good is None:
            return "wrong", f"no line of the output matches {result.prints!r}"
        return "right", f"the output holds {good.group(0)!r}"
    return "right", f"the command ended with status {status}"
