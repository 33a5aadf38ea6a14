"""What a typed text is: a command, an answer, files, a fact, a pasted log, or words; it never leaves the machine."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from denpex_kb.chat.question import Choice, Question
from denpex_kb.errors import InputError
from denpex_kb.model.facts import FactDeclaration, FactValue

# What is typed → the command; where the pattern has a group, it is the command's argument.
_COMMANDS: tuple[tuple[str, str], ...] = (
    ("help", r"help(?: me)?|\?|h|commands"),
    ("facts", r"facts|what do you know|known"),
    ("why-not", r"why not\s+(\S.*)"),
    ("why", r"why|why this|why do you ask|reason"),
    ("why-entry", r"why\s+([a-z0-9][a-z0-9-]*-[a-z0-9-]+)"),
    ("else", r"what else|else|alternatives|others|ranking|what else could it be"),
    ("fix", r"(?:show )?(?:the |me the )?fix|how do i fix (?:it|this|that)"),
    ("verify", r"verify|(?:show )?verification|how do i verify(?: it| this| that)?|how do i check(?: it| this| that)?"),
    ("checklist", r"(?:show )?(?:the )?checklist"),
    ("answer", r"answer|diagnosis|show answer|result"),
    ("undo", r"undo|back|take (?:it|that) back"),
    ("forget", r"forget\s+(\S+)"),
    ("save", r"save\s+(\S.*)"),
    ("save-where", r"save"),
    ("summary", r"summary|sum up"),
    ("show", r"show\s+([a-z0-9][a-z0-9-]+)"),
    ("quit", r"quit|exit|q|bye|:q"),
)
COMMANDS = (
    *("facts", "why", "why not ", "what else", "show fix", "how do I verify", "checklist", "answer", "show "),
    *("undo", "forget ", "save ", "summary", "help", "quit"),
)
_UNKNOWING = re.compile(
    r"d|dk|don'?t know|dont know|do not know|i (?:don'?t|do not) know|no idea|not sure|unsure|skip|pass|idk|unknown"
    r"|how do i find (?:it |that )?out"
    r"|keine ahnung|wei(?:ß|ss) (?:ich )?nicht|je ne sais pas|no (?:lo )?s[eé]|n[aã]o sei|non (?:lo )?so|nie wiem"
    r"|не знаю|不知道|不清楚|分からない|わからない|모르겠(?:어요|습니다)|몰라요?",
    re.IGNORECASE,
)
_YES = re.compile(r"y|yes|yep|yeah|true|ja|oui|si|да|是", re.IGNORECASE)
_NO = re.compile(r"n|no|nope|false|nein|non|нет|否|none|none of (?:these|them)|neither", re.IGNORECASE)
_LEAD = re.compile(
    r"^(?:(?:no|sorry|actually|correction|wait|yes|in fact|it'?s|it is|it was|that is|the)\b[\s,:;-]*)+", re.IGNORECASE
)
_NUMBERS = re.compile(r"\[?\w+\]?(?:[\s,;+&]+(?:and )?\[?\w+\]?)*")
_VERSION = re.compile(r"^v?(\d+(?:\.\d+){1,3}[\w.+-]*)$")
_PATH_LIKE = re.compile(r"^(?:file:|/|~/|\./|\.\./)")
_SETTING = re.compile(r"^(?:set\s+)?([a-z][a-z_-]*(?:\.[a-z_]+)*)\s*=\s*(\S.*)$", re.IGNORECASE)


class Command(Struct, frozen=True):
    """A command of the conversation and its argument."""

    name: str
    argument: str = ""


def command_of(text: str) -> Command | None:
    """Read a command; None where the text is none."""
    plain = " ".join(text.split()).strip().rstrip("?!.").strip() or text.strip()
    for name, pattern in _COMMANDS:
        match = re.fullmatch(pattern, plain, re.IGNORECASE)
        if match is not None:
            groups = match.groups()
            argument = text.strip().split(None, 1)[1] if name == "save" else (groups[0] if groups else "")
            return Command(name, argument)
    return None


def chosen(text: str, question: Question) -> list[Choice] | None:
    """Read an answer to a question: the choices that it names, an empty list for none of them; None: no answer.

    Numbers in brackets, several of them, and the words of a choice are understood.
    """
    plain = " ".join(text.strip().strip(".!").split())
    if not plain:
        return None
    if question.kind in ("lines", "signs"):
        if _NO.fullmatch(plain) or plain == "0":
            return []
        if len(question.choices) == 1 and _YES.fullmatch(plain):
            return [question.choices[0]]
    by_key = {choice.key.lower(): choice for choice in question.choices}
    if question.kind == "value" and set(by_key) == {"y", "n"}:
        if _YES.fullmatch(plain):
            return [by_key["y"]]
        if _NO.fullmatch(plain):
            return [by_key["n"]]
    if _NUMBERS.fullmatch(plain):
        parts = [part.lower() for part in re.findall(r"\w+", plain) if part.lower() != "and"]
        named = [by_key[part] for part in parts if part in by_key]
        if named and len(named) == len(parts) and (question.several or len(named) == 1):
            return list(dict.fromkeys(named))
    by_label = {choice.label.lower(): choice for choice in question.choices if choice.label}
    found = by_label.get(plain.lower().replace(" ", "-")) or by_label.get(plain.lower())
    return [found] if found is not None else None


def unknowing(text: str) -> bool:
    """Say whether an answer is that the user does not know."""
    return bool(_UNKNOWING.fullmatch(" ".join(text.strip().rstrip("?.!").split())))


def refusing(text: str) -> bool:
    """Say whether an answer is a plain no."""
    return bool(_NO.fullmatch(" ".join(text.strip().rstrip("?.!").split())))


def version_of(text: str) -> str | None:
    """Read a bare version number."""
    match = _VERSION.match(text.strip())
    return match.group(1) if match else None


def setting_of(text: str) -> str | None:
    """Read `fact = value`; returns it as `fact=value`."""
    match = _SETTING.match(text.strip())
    return f"{match.group(1)}={match.group(2)}" if match else None


def files_of(text: str) -> list[Path]:
    """Read a line of paths, as a shell quotes them or a file manager drops them; empty where it is none.

    Raises:
        InputError: the line can only mean a path, and there is no such file.
    """
    stripped = text.strip()
    # a file may be called 3, but who types 3 answers a question
    if len(stripped) < 2 or stripped.isdigit() or "\n" in stripped or len(stripped) > 8000:
        return []
    whole = _path(stripped)
    if whole is not None and _exists(whole):
        return [whole]
    try:
        parts = shlex.split(stripped)
    except ValueError:
        return []
    named = [_path(part) for part in parts]
    if named and all(path is not None and _exists(path) for path in named):
        return [path for path in named if path is not None]
    if len(parts) >= 1 and all(_PATH_LIKE.match(part) for part in parts):
        missing = next(part for part, path in zip(parts, named, strict=True) if path is None or not _exists(path))
        raise InputError(f"{missing}: no such file or folder; check the path")
    return []


def _path(part: str) -> Path | None:
    if "\x00" in part:
        return None
    if part.lower().startswith("file:"):
        try:
            split = urlsplit(part)
        except ValueError:
            return None
        if split.netloc not in ("", "localhost"):
            return None
        part = unquote(split.path)
        if "\x00" in part:
            return None
    if not part:
        return None
    try:
        return Path(part).expanduser()
    except (RuntimeError, ValueError):
        return None


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def value_of(text: str, fact: FactDeclaration) -> FactValue | None:
    """Read a bare value of a fact whose question stands open."""
    plain = text.strip().lower().replace(" ", "-")
    if fact.type == "int" and plain.isdigit() and len(plain) < 8:
        return int(plain)
    if fact.type in ("enum", "set") and plain in fact.values:
        return plain
    return None


def plainly(text: str) -> str:
    """Take off what people put in front of a correction: "no, it is", "actually"."""
    return _LEAD.sub("", text.strip()).strip()


def named_value(text: str, facts: Sequence[FactDeclaration]) -> tuple[str, str] | None:
    """Read a fact that is called by its name or title with a value behind it: "stage 2", "precision is bf16"."""
    plain = " ".join(plainly(text).rstrip(".!").split())
    if len(plain.split()) > 6:
        return None
    best: tuple[int, str, str] | None = None
    for name, fact in _called(facts).items():
        match = re.fullmatch(rf"{re.escape(name)}(?:\s+(?:is|was|are|=)|\s*[=:])?\s+(\S+)", plain, re.IGNORECASE)
        if match is not None and (best is None or len(name) > best[0]):
            best = (len(name), fact, match.group(1))
    return (best[1], best[2]) if best is not None else None


def _called(facts: Sequence[FactDeclaration]) -> dict[str, str]:
    """Return what a fact may be called: its name, its title, and the title's last word where no other has it."""
    called = {fact.name: fact.name for fact in facts} | {fact.title.lower(): fact.name for fact in facts}
    lasts = [fact.title.lower().split()[-1] for fact in facts]
    for fact, last in zip(facts, lasts, strict=True):
        if lasts.count(last) == 1:
            called.setdefault(last, fact.name)
    return called
