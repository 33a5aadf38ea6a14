"""The scripts of the page that reads a log: rules and matcher, from which the page makes its worker."""

from __future__ import annotations

from pathlib import Path


def rules_script(data: bytes) -> bytes:
    """Write the rules as a script, which a page may load from a folder where it may not fetch."""
    text = data.decode().replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return f"self.DENPEX_RULES = {text};\n".encode()


def matcher_script(folder: Path) -> bytes:
    """Join the matcher's modules into one function, of which the page makes its worker."""
    parts = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.js"))]
    body = "\n".join(parts)
    return f'function denpexMatcher(self) {{\n"use strict";\n{body}\nreturn {{ prepare, diagnose }};\n}}\n'.encode()
