"""What a node's script printed → files named after ranks, without secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from denpex_kb.capture.script import MARK

_NAME = re.compile(r"^[a-z0-9-]{1,40}$")
_RANK = re.compile(r"^(?:RANK|SLURM_PROCID)=(\d{1,7})$", re.MULTILINE)
# What follows a name that sounds secret on a command line: `--api-key x`, `token=x`.
_SECRET = re.compile(
    r"(?i)([\w-]*(?:token|secret|passw(?:or)?d|api[_-]?key|access[_-]?key|credentials?)(?![a-z])[\w-]*)([= ]+)(\S+)"
)
_COMMANDS = re.compile(r"^(?:(?:Parent )?Process \d+:|cmdline:|\s*(?:Command|SubmitLine)=).*$", re.MULTILINE)
_URL_USER = re.compile(r"(\w+://)[^/\s:@]+:[^/\s@]+@")


class Section(Struct, frozen=True):
    """One file of the capture."""

    name: str
    text: str


def mask(text: str) -> str:
    """Blank what the command lines in a text hold of secrets; frames and other lines stay as they are."""
    return _COMMANDS.sub(lambda match: mask_command(match.group()), text)


def mask_command(text: str) -> str:
    """Blank what one command line holds of secrets."""
    return _URL_USER.sub(r"\1***@", _SECRET.sub(r"\1\2***", text))


def split(output: str) -> list[Section]:
    """Cut a node's output into files; a process whose rank is known is called by it."""
    raw = dict(_raw(output))
    ranks = {
        name.removeprefix("process-"): match.group(1)
        for name, text in raw.items()
        if name.startswith("process-") and (match := _RANK.search(text)) is not None
    }
    found = []
    taken: set[str] = set()
    for name, text in sorted(raw.items(), key=lambda item: _order(item[0])):
        kind, _, pid = name.partition("-")
        if kind in ("process", "stack") and pid.isdigit():
            what = "pyspy" if kind == "stack" else "process"
            file = f"rank{ranks[pid]}.{what}.txt" if pid in ranks else f"pid-{pid}.{what}.txt"
            if file in taken:  # workers of a rank's data loader have its environment; the rank itself came first
                file = f"rank{ranks[pid]}.subprocess-{pid}.{what}.txt"
            taken.add(file)
            found.append(Section(file, mask(text)))
        elif name != "end":
            found.append(Section(f"{name}.txt", mask(text)))
    return found


def _order(name: str) -> tuple[str, int]:
    kind, _, pid = name.partition("-")
    return kind, int(pid) if pid.isdigit() else 0


def _raw(output: str) -> Iterator[tuple[str, str]]:
    name: str | None = None
    lines: list[str] = []
    for line in output.split("\n"):
        if line.startswith(f"{MARK} "):
            if name is not None:
                yield name, "\n".join(lines).strip("\n") + "\n"
            stated = line.removeprefix(f"{MARK} ").strip()
            name = stated if _NAME.match(stated) else None  # what a node prints must not choose where it is written
            lines = []
        elif name is not None:
            lines.append(line)
    if name is not None:
        yield name, "\n".join(lines).strip("\n") + "\n"


def is_complete(output: str) -> bool:
    """Say whether the script ran to its end."""
    return output.rstrip().endswith(f"{MARK} end")
