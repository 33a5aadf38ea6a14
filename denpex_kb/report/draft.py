"""A draft of a new entry from a log: signatures proposed from its error lines, each with a strength and its doubts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from denpex_kb.api import KnowledgeBase
from denpex_kb.catalog.patterns import faults
from denpex_kb.errors import InputError
from denpex_kb.model.diagnosis import Diagnosis
from denpex_kb.pipeline.core import lines_before, place_of
from denpex_kb.read.files import read_chunks
from denpex_kb.read.prefixes import PrefixReader
from denpex_kb.report.copies import learnt

_AROUND = 120  # lines before the first error that the sample keeps
_MOST = 4
_EXCEPTION = re.compile(r"^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Warning|Failed|Timeout)\b")
_TROUBLE = re.compile(
    r"\b(?:[A-Z]\w*(?:Error|Exception)\b|error\b|ERROR|FATAL|fatal|failed\b|Failed\b|assert|abort|[Ii]nvalid|cannot|unable"
    r"|mismatch|timed? ?out|Killed|corrupt)"
)
_LIBRARY_FRAME = re.compile(
    r'File "[^"]{0,400}?/(?:site|dist)-packages/([\w./-]{4,200}\.py)", line \d+, in ([\w<>]{3,60})'
)
# What differs from run to run, and what stands for it in a pattern; the order matters.
_VARIABLE: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), r"[0-9a-f-]{36}"),
    (re.compile(r"0x[0-9a-fA-F]+"), r"0x[0-9a-fA-F]{1,16}"),
    (re.compile(r"(?<![\w/])(?:~|\.{1,2})?/(?:[\w.@%+=~-]+/)*[\w.@%+=~-]+"), r"[^ ]{1,200}"),
    (re.compile(r"'[^']{0,200}'"), r"'.{0,200}'"),
    (re.compile(r"\"[^\"]{0,200}\""), r'".{0,200}"'),
    (re.compile(r"\b(?:host|secret|user|bucket)-\d+\b"), r"[^ ]{1,100}"),
    (re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}\b"), r"[\d.]{7,15}"),
    (re.compile(r"\[[\d, ]{3,}\]"), r"\[.{0,200}\]"),
    (re.compile(r"(?<![A-Za-z_])\d+(?:[.,]\d+)*"), r"\d[\d.,]{0,20}"),
)


class Proposal(Struct, frozen=True):
    """A signature that a log suggests."""

    name: str
    pattern: str
    strength: str
    example: str
    where: str = "log"
    doubts: tuple[str, ...] = ()  # why it may be too weak, such as healthy logs that hold it


class Draft(Struct, frozen=True):
    """What a log gives for a new entry."""

    title: str
    proposals: tuple[Proposal, ...]
    sample: str  # the lines before the error, redacted
    versions: tuple[tuple[str, str], ...]  # framework, version
    kind: str


def draft(kb: KnowledgeBase, log: Path, healthy: Mapping[str, str]) -> Draft:
    """Draft an entry from a log.

    Args:
        kb: the open knowledge base.
        log: the log of the failure, or a folder.
        healthy: samples of healthy logs, by name; what stands there too is no sign of a failure.

    Raises:
        InputError: no error line is found there.
    """
    diagnosis = kb.diagnose(log)
    lines = _lines(diagnosis, log)
    if not lines:
        raise InputError(f"{log}: no error line in there; a draft needs one")
    redactor = learnt(kb, ["\n".join(lines)])
    clean = redactor.redact("\n".join(lines)).split("\n")
    reader = PrefixReader(kb.index.kb.prefixes).sample(clean)
    bare = [reader.read(line).rest.strip() for line in clean]
    proposals = tuple(_proposals(clean, bare, healthy))
    versions = tuple(
        (item.id, str(diagnosis.facts[item.fact][0].value))
        for item in kb.index.kb.frameworks
        if item.fact and item.fact in diagnosis.facts
    )
    symptoms = [str(value.value) for value in diagnosis.facts.get("symptom", ())]
    kind = "oom" if "out of memory" in bare[-1].lower() else "hang" if "hang" in symptoms else "crash"
    return Draft(_title(bare[-1]), proposals, "\n".join(clean) + "\n", tuple(dict(versions).items()), kind)


def _lines(diagnosis: Diagnosis, log: Path) -> list[str]:
    place = diagnosis.first_error
    began = diagnosis.initiating
    file, number = (place.file, place.line) if place else (began.file, began.line) if began else (None, None)
    path = place_of(file, [log]) if file else None
    if path is None or number is None:
        return []
    return lines_before(read_chunks(path, []), number)[-_AROUND:]


def _proposals(lines: Sequence[str], bare: Sequence[str], healthy: Mapping[str, str]) -> Iterator[Proposal]:
    """Propose the last line first: it is the error; then other lines of trouble, and the library frame it came from."""
    seen: set[str] = set()
    for back, (line, text) in enumerate(zip(reversed(lines), reversed(bare), strict=True)):
        before = bare[len(bare) - back - 2] if back + 2 <= len(bare) else ""
        is_code = text.startswith("File ") or before.startswith("File ")
        if (back and not _TROUBLE.search(text)) or is_code or len(seen) >= _MOST:
            continue
        proposal = propose(
            "message" if not back else f"message-{len(seen) + 1}", text, line.strip(), healthy, first=not back
        )
        if proposal is not None and proposal.pattern not in seen:
            seen.add(proposal.pattern)
            yield proposal
    frames = [(match, line) for line in lines if (match := _LIBRARY_FRAME.search(line))]
    if frames:
        match, line = frames[-1]
        pattern = rf'{re.escape(match.group(1)).replace("/", "/")}", line \d{{1,6}},? in {re.escape(match.group(2))}'
        yield _checked("library-frame", pattern, "part", line.strip(), healthy, "stack")


def propose(name: str, text: str, example: str, healthy: Mapping[str, str], *, first: bool = True) -> Proposal | None:
    """Propose a signature for one line; None where too little of it is fixed."""
    pattern = generalise(text[:300])
    literal = max((len(part) for part in re.split(r"\\d|\[[^\]]*\]|\.\{|[\\(){}]", pattern)), default=0)
    if literal < 6:
        return None
    words = len(re.findall(r"[A-Za-z]{3,}", re.sub(r"\\.|\{[\d,]+\}", " ", pattern)))
    strength = "strong" if first and words >= 4 else "supporting"
    return _checked(name, pattern, strength, example, healthy, "log")


def generalise(text: str) -> str:
    """Turn a message into a pattern: numbers, paths, hosts and quoted words become what may stand there."""
    pieces: list[tuple[int, int, str]] = []
    for shape, replacement in _VARIABLE:
        for match in shape.finditer(text):
            if all(match.end() <= start or match.start() >= end for start, end, _ in pieces):
                pieces.append((match.start(), match.end(), replacement))
    parts, at = [], 0
    for start, end, replacement in sorted(pieces):
        parts += [_escaped(text[at:start]), replacement]
        at = end
    pattern = "".join(parts) + _escaped(text[at:])
    return re.sub(r"(?:\{\d+,\d+\}|\.\{0,200\})+$", "", pattern.rstrip()) if pattern.endswith("}") else pattern.rstrip()


def _escaped(text: str) -> str:
    return re.sub(r"([\\.^$*+?{}()|\[\]])", r"\\\1", text)


def _checked(name: str, pattern: str, strength: str, example: str, healthy: Mapping[str, str], where: str) -> Proposal:
    doubts = list(faults(pattern))
    if not doubts:
        compiled = re.compile(pattern)
        held = [sample for sample, text in healthy.items() if compiled.search(text)]
        if held:
            doubts.append(f"also stands in healthy logs: {', '.join(held[:3])}")
            strength = "part"
    return Proposal(name, pattern, strength, example[:300], where, tuple(doubts))


def _title(text: str) -> str:
    bare = re.sub(r"\s+", " ", text).strip()
    return (bare[:100] or "What happens, in plain words").replace('"', "'")


def front_signatures(proposals: Iterable[Proposal]) -> str:
    """Write the proposals as the `signatures` of an entry's front matter, doubts as comments."""
    blocks = []
    for item in proposals:
        doubts = "".join(f"  # look here: {doubt}\n" for doubt in item.doubts)
        where = "" if item.where == "log" else f"    where: {item.where}\n"
        blocks.append(
            f"{doubts}  - name: {item.name}\n    pattern: {_quoted(item.pattern)}\n    strength: {item.strength}\n"
            f"{where}    example: {_quoted(item.example)}\n"
        )
    return "".join(blocks)


def _quoted(text: str) -> str:
    """Quote a text for YAML without escapes, as patterns are easiest to read."""
    return "'" + text.replace("'", "''") + "'"


def healthy_samples(catalogs: Iterable[Path]) -> dict[str, str]:
    """Read the healthy samples of all entries."""
    found: dict[str, str] = {}
    for root in catalogs:
        for path in sorted(root.glob("*/*/negative-healthy*")):
            files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
            text = "\n".join(file.read_text(encoding="utf-8", errors="replace") for file in files)
            found[str(path.relative_to(root))] = text
    return found
