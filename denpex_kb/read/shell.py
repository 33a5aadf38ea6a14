"""A shell script → its commands with options, variables and Slurm directives; nothing is run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from msgspec import Struct

_ASSIGNMENT = re.compile(r"^([A-Za-z_]\w*)=(.*)$", re.DOTALL)
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
_ARITHMETIC = re.compile(r"\$\(\(([^()]{1,80})\)\)")
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)([A-Za-z_]\w*)\1")
_SEPARATORS = frozenset([";", "&&", "||", "|", "&", "(", ")", "{", "}", "then", "do", "else", "!", ";;"])
_KEYWORDS = frozenset(["if", "while", "until", "time", "exec", "command", "sudo"])
MAX_COMMANDS = 2000


class Word(Struct, frozen=True):
    """A command as it stands in the script: its words and what was assigned in front of it."""

    line: int
    words: tuple[str, ...]
    assigned: dict[str, str]
    background: bool = False


class Script(Struct):
    """What a shell script holds."""

    words: list[Word]
    exported: dict[str, tuple[str, int]]  # variable → value and line
    slurm: dict[str, tuple[str, int]]  # option in one spelling → value and line


def read_shell(text: str, first_line: int = 1) -> Script:
    """Read a script; lines that the shell itself could not read are passed over."""
    script = Script([], {}, {})
    known: dict[str, str] = {}
    set_twice: set[str] = set()
    for line, logical in _logical_lines(text, first_line):
        if logical.startswith("#SBATCH"):
            _directive(logical[7:], line, script)
            continue
        for word in _commands(logical, line):
            if len(script.words) >= MAX_COMMANDS:
                return script
            _note(word, known, set_twice, script)
    return script


def _note(word: Word, known: dict[str, str], set_twice: set[str], script: Script) -> None:
    assigned = {name: expand(value, known) for name, value in word.assigned.items()}
    words = tuple(expand(item, known) for item in word.words)
    exported = words[:1] in (("export",), ("declare",), ("setenv",))
    if exported:
        matches = (_ASSIGNMENT.match(item) for item in words[1:])
        assigned |= {match[1]: match[2] for match in matches if match}
    if exported or not words:
        for name, value in assigned.items():
            if name in known or name in set_twice:  # which value holds depends on the way through the script
                set_twice.add(name)
                known.pop(name, None)
            elif "$" not in value and "`" not in value:
                known[name] = value
            if exported:
                script.exported[name] = (value, word.line)
        return
    script.words.append(Word(word.line, words, assigned, word.background))


def expand(text: str, known: dict[str, str]) -> str:
    """Put the values of variables in place that the script sets once, to a plain text."""
    if "$" not in text:
        return text
    text = _VARIABLE.sub(lambda match: known.get(match.group(1) or match.group(2), match.group(0)), text)
    return _ARITHMETIC.sub(lambda match: _sum(match, known), text)


def _sum(match: re.Match[str], known: dict[str, str]) -> str:
    terms = re.split(
        r"\s*([*+])\s*", re.sub(r"\b[A-Za-z_]\w*\b", lambda name: known.get(name[0], name[0]), match[1].strip())
    )
    if not all(term.isdigit() and len(term) < 10 for term in terms[::2]):
        return match[0]
    products = [1]
    for sign, term in zip(["*", *terms[1::2]], terms[::2], strict=True):
        products = [*products[:-1], products[-1] * int(term)] if sign == "*" else [*products, int(term)]
    return str(sum(products))


def _logical_lines(text: str, first_line: int) -> Iterator[tuple[int, str]]:
    """Join continued and quoted lines; the bodies of here-documents are passed over."""
    held, start, until = "", first_line, None
    for number, line in enumerate(text.split("\n"), first_line):
        if until is not None:
            until = None if line.strip() == until else until
            continue
        start = start if held else number
        held += line[:-1] + " " if line.endswith("\\") else line
        if line.endswith("\\") and len(held) < 1 << 16:
            continue
        if _open_quote(held) and len(held) < 1 << 16:
            held += "\n"
            continue
        if held.strip():
            yield start, held.strip()
        heredoc = _HEREDOC.search(held)
        until = heredoc.group(2) if heredoc else None
        held = ""
    if held.strip():
        yield start, held.strip()


def _open_quote(text: str) -> bool:
    quote = ""
    before = " "
    for character in text:
        if quote:
            quote = "" if character == quote and before != "\\" else quote
        elif character in "'\"" and before != "\\":
            quote = character
        elif character == "#" and before.isspace():
            return False
        before = character
    return bool(quote)


def _commands(logical: str, line: int) -> Iterator[Word]:
    lexer = shlex.shlex(logical, posix=True, punctuation_chars="();<>|&")
    lexer.whitespace_split = True
    lexer.commenters = "#" if re.search(r"(^|\s)#", logical) else ""
    try:
        tokens = list(lexer)
    except ValueError:
        return
    words: list[str] = []
    for item in tokens:
        if item in _SEPARATORS or (item and set(item) <= set(";&|()")):
            yield from _word(words, line, background=item == "&")
            words = []
        else:
            words.append(item)
    yield from _word(words, line, background=False)


def _word(tokens: list[str], line: int, *, background: bool) -> Iterator[Word]:
    words = list(tokens)
    while words and words[0] in _KEYWORDS:
        words.pop(0)
    for index, token in enumerate(words):  # redirections end the words of interest
        if set(token) <= set("<>&") and token:
            words = words[:index]
            break
    if words and words[-1].isdigit() and len(words) < len(tokens) and tokens[len(words)].startswith(">"):
        words.pop()  # the 2 of `2>`
    assigned: dict[str, str] = {}
    while words and (match := _ASSIGNMENT.match(words[0])):
        assigned[match.group(1)] = match.group(2)
        words.pop(0)
    if words or assigned:
        yield Word(line, tuple(words), assigned, background)


_SHORT = {
    "N": "nodes",
    "n": "ntasks",
    "G": "gpus",
    "c": "cpus_per_task",
    "a": "array",
    "C": "constraint",
    "p": "partition",
}
_VALUED = frozenset(
    [
        "nodes", "ntasks", "ntasks_per_node", "gpus_per_node", "gpus", "gres", "cpus_per_task", "gpus_per_task",
        "partition", "account", "time", "mem", "job_name", "output", "error", "container_image", "container_mounts",
        "nodelist", "array", "constraint", "qos", "mail_type", "mail_user", "chdir", "export", "mpi", "cpu_bind",
    ]
)  # fmt: skip


def _directive(text: str, line: int, script: Script) -> None:
    try:
        tokens = shlex.split(text, comments=True)
    except ValueError:
        return
    options, _ = slurm_options(tokens)
    for name, value in options.items():
        script.slurm.setdefault(name, (value, line))


def slurm_options(tokens: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Read the options of sbatch or srun; returns them in one spelling, and the words of the command behind them."""
    options: dict[str, str] = {}
    index = 0
    while index < len(tokens) and tokens[index].startswith("-"):
        name, sign, value = tokens[index].partition("=")
        if not name.startswith("--"):
            name, value, sign = name[:2], name[2:] or value, "=" if name[2:] or sign else ""
        name = _SHORT.get(name[1:], name.lstrip("-").replace("-", "_"))
        if not sign and (name in _VALUED or len(name) == 1) and index + 1 < len(tokens) and name not in "luvQXOE":
            index += 1
            value = tokens[index]
        options[name] = value
        index += 1
    gres = options.get("gres") or options.get("gpus_per_node") or ""
    model = re.match(r"(?:gpu:)?([A-Za-z][\w.]*?)(?:[-_:]|$)", gres.removeprefix("gres/").removeprefix("gpu:"))
    if model:
        options.setdefault("gpu_model", model.group(1).lower())
    elif options.get("constraint", "").lower() in ("v100", "t4", "p100", "a100", "h100"):
        options.setdefault("gpu_model", options["constraint"].lower())
    return options, list(tokens[index:])
