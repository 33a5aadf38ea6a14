"""The messages that software prints, as templates, from A to Z."""

from __future__ import annotations

import re
from collections import defaultdict

from msgspec import Struct

from denpex_kb.hub.library import Library
from denpex_kb.model.entry import Entry
from denpex_kb.read.prefixes import PrefixReader

_LOGGER = re.compile(
    r"^(?:\[[^\]]{0,80}\]|\(\w+ pid=[^)]*\)|[VIWEFC]\d{3,4} [\d:.]+ +\d+ \S+\]|\d{4}-\d\d-\d\d[ T][\d:.,]+Z?"
    r"|[\w.-]+:\d+:\d+|(?:INFO|WARNING|ERROR|WARN|FATAL|CRITICAL)\b|[-:\s])+"
)
_KIND = re.compile(r"^([A-Za-z_][\w.]*(?:Error|Exception|Warning|Exit|Interrupt|Full|Empty))(?:: |$)")
_NUMBER = re.compile(r"0x[0-9a-fA-F]+|\b\d+(?:\.\d+)*\b")
_PATH = re.compile(r"(?<![\w.])/(?:[\w.@+-]+/)+[\w.@+-]*")
_LONGEST = 170


class Message(Struct, frozen=True):
    """A message template and the entry that it leads to."""

    kind: str  # the exception's type, where it opens the message
    text: str
    entry: Entry


def messages_by_letter(library: Library, prefixes: PrefixReader) -> dict[str, tuple[Message, ...]]:
    """Return every telling message by the first letter of its text; `0` gathers the rest."""
    found: dict[str, dict[tuple[str, str, str], Message]] = defaultdict(dict)
    for entry in library.entries:
        for signature in entry.meta.signatures:
            if signature.strength not in ("decisive", "strong") or signature.where == "stack":
                continue
            for example in signature.examples:
                message = _template(example, entry, prefixes)
                if message is not None:
                    first = message.text[0].lower()
                    letter = first if "a" <= first <= "z" else "0"
                    found[letter].setdefault((message.text, message.kind, entry.id), message)
    return {
        letter: tuple(sorted(found[letter].values(), key=lambda item: (item.text.lower(), item.entry.id)))
        for letter in sorted(found, key=lambda letter: (letter == "0", letter))
    }


def _template(example: str, entry: Entry, prefixes: PrefixReader) -> Message | None:
    text = prefixes.read(example.strip()).rest
    text = _LOGGER.sub("", text).strip()
    match = _KIND.match(text)
    kind = match.group(1) if match else ""
    text = text[match.end() :] if match else text
    text = _NUMBER.sub("N", _PATH.sub("/…", text)).strip(" \"'").lstrip("()#*>:,-–='\" ")
    if len(text) < 4:
        text, kind = kind, ""
    if not text:
        return None
    return Message(kind, text if len(text) <= _LONGEST else text[:_LONGEST].rsplit(" ", 1)[0] + " …", entry)
