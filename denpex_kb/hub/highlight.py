"""Colour for code, at build time: comments, strings, numbers and words that a language reserves."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

from denpex_kb.hub.text import visible

_STRING = r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
_NUMBER = r"(?<![\w.-])\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?\b"
_HASH = r"(?:(?<=\s)|^)#[^\n]*"
_PYTHON = (
    "and|as|assert|async|await|break|class|continue|def|del|elif|else|except|False|finally|for|from|global|if|import"
    "|in|is|lambda|None|nonlocal|not|or|pass|raise|return|True|try|while|with|yield"
)
_SHELL = "if|then|else|elif|fi|for|in|do|done|while|case|esac|export|function|unset|set"
_SHAPES = {
    "python": (_HASH, rf"[rbfRBF]?\"\"\".*?\"\"\"|[rbfRBF]{{0,2}}(?:{_STRING})", rf"\b(?:{_PYTHON})\b", _NUMBER),
    "bash": (_HASH, _STRING, rf"(?:(?<=^)|(?<=[\s;|&(]))(?:{_SHELL})(?=\s|;|$)", r"(?<=\s)--?[A-Za-z][\w-]*"),
    "yaml": (_HASH, _STRING, r"^[ \t-]*[\w.-]+(?=:)|\b(?:true|false|null)\b", _NUMBER),
    "json": (
        r"//[^\n]*",
        r"\"(?:\\.|[^\"\\\n])*\"(?!\s*:)",
        r"\"(?:\\.|[^\"\\\n])*\"(?=\s*:)|\b(?:true|false|null)\b",
        _NUMBER,
    ),
    "toml": (_HASH, _STRING, r"^[ \t]*[\w.-]+(?=\s*=)|^\[.*\]$|\b(?:true|false)\b", _NUMBER),
    "dockerfile": (_HASH, _STRING, r"^(?:FROM|RUN|ENV|COPY|CMD|ENTRYPOINT|ARG|WORKDIR)\b", _NUMBER),
}
_ALIASES = {
    "py": "python",
    "sh": "bash",
    "shell": "bash",
    "console": "bash",
    "yml": "yaml",
    "jsonc": "json",
    "ini": "toml",
}
_CLASSES = ("c", "s", "k", "n")
_COMPILED = {
    name: re.compile(
        "|".join(f"({shape})" for shape in shapes), re.MULTILINE | re.DOTALL if name == "python" else re.MULTILINE
    )
    for name, shapes in _SHAPES.items()
}


def highlight(code: str, language: str) -> Markup:
    """Return code as escaped HTML with spans; an unknown language stays plain."""
    code = visible(code)
    shape = _COMPILED.get(_ALIASES.get(language.lower(), language.lower()))
    if shape is None:
        return escape(code)
    parts: list[str] = []
    position = 0
    for match in shape.finditer(code):
        if not match.group(0):
            continue
        parts.append(str(escape(code[position : match.start()])))
        parts.append(f'<span class="t{_CLASSES[(match.lastindex or 1) - 1]}">{escape(match.group(0))}</span>')
        position = match.end()
    parts.append(str(escape(code[position:])))
    return Markup("".join(parts))  # noqa: S704 (every piece was escaped)
