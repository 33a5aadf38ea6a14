"""Redacted copies of logs, whose diagnosis is that of the originals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePath

from denpex_kb.api import KnowledgeBase
from denpex_kb.errors import InputError
from denpex_kb.read.files import COMPRESSED, binary_reason, collect, read_chunks
from denpex_kb.read.prefixes import PrefixReader
from denpex_kb.read.text import to_utf8
from denpex_kb.report.redact import Redactor

MOST = 256 << 20  # bytes of one log that are copied


def write_copies(kb: KnowledgeBase, paths: Sequence[Path], folder: Path) -> list[Path]:
    """Write a redacted copy of every log; names of files and folders are redacted too.

    Raises:
        InputError: nothing can be read, or the folder cannot be written.
    """
    files, notes = collect(paths)
    texts: list[tuple[str, str]] = []
    for file in files:
        text = _text(file.path, notes)
        if text is not None:
            texts.append((PurePath(file.name).name if file.named else file.name, text))
    redactor = learnt(kb, [text for _, text in texts])
    written = []
    for name, text in texts:
        target = folder / redactor.redact(_plain_name(name))
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(redactor.redact(text), encoding="utf-8", newline="")
        except OSError as error:
            raise InputError(f"{target}: cannot be written: {error.strerror}") from error
        written.append(target)
    return written


def learnt(kb: KnowledgeBase, texts: Sequence[str]) -> Redactor:
    """Return a redactor that has learnt the names in all of the texts, those in the launchers' prefixes too."""
    redactor = Redactor()
    reader = PrefixReader(kb.index.kb.prefixes)
    for text in texts:
        redactor.learn(text)
        lines = text.split("\n")
        sampled = reader.sample(lines[:2000])
        redactor.know_hosts(
            host for line in lines if (prefix := sampled.read(line[:300])) for host in (prefix.host, prefix.pod) if host
        )
    return redactor


def _plain_name(name: str) -> str:
    for suffix in COMPRESSED:
        name = name.removesuffix(suffix)
    return name


def _text(path: Path, notes: list[str]) -> str | None:
    held = b""
    for chunk in read_chunks(path, notes):
        if not held and binary_reason(chunk) is not None:
            return None
        held += chunk
        if len(held) > MOST:
            raise InputError(f"{path}: more than {MOST >> 20} MiB; cut the log around the failure first")
    return b"".join(to_utf8((held,))).decode("utf-8", "replace") if held else None
