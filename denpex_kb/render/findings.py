"""A preflight's report as a linter prints it, as JSON, as SARIF and as GitHub annotations."""

from __future__ import annotations

from collections import Counter
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from denpex_kb.model.display import printable
from denpex_kb.model.preflight import PreflightFinding, PreflightReport
from denpex_kb.render.json import to_json
from denpex_kb.render.paper import Paper

_SHOWN_FILES = 12
_SHOWN_UNDECIDED = 8
_SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def findings_text(report: PreflightReport, sheet: Paper) -> str:
    """Write the findings as `file:line: id message`, each with its fix."""
    for item in report.findings:
        place = printable(_place(item.file, item.line))
        # one line, however long: editors and scripts read it
        sheet.raw(f"{sheet.paint(place, 'bold')}: {sheet.paint(item.id, 'bad')} {printable(item.message)}")
        step, *code = item.fix.split("\n")
        sheet.line(f"fix: {step}", "plain", 4)
        for line in code:
            sheet.raw(" " * 6 + sheet.paint(printable(line), "code"))
        sheet.line(f"denpex show {item.id}", "dim", 4)
    return sheet.text() if report.findings else ""


def _place(file: str, line: int | None) -> str:
    return f"{file}:{line}" if line is not None else f"{file}:1"


def summary_lines(report: PreflightReport) -> list[str]:
    """Say what was read, what is undecided, and how many findings there are; for standard error."""
    lines = [f"note: {note}" for note in report.notes[:20]]
    if len(report.notes) > 20:
        lines.append(f"note: {len(report.notes) - 20} more notes; --format json lists them")
    for item in report.undecided[:_SHOWN_UNDECIDED]:
        wanted = ", ".join(item.needs)
        lines.append(f"undecided: {_place(item.file, item.line)}: {item.id} depends on {wanted}")
    if len(report.undecided) > _SHOWN_UNDECIDED:
        lines.append(f"undecided: {len(report.undecided) - _SHOWN_UNDECIDED} more; --format json lists them")
    if report.undecided:
        lines.append("undecided: pin the versions in requirements.txt, or give --env VENV or --set NAME=VERSION")
    lines.append(f"read: {_read(report)}")
    count = len(report.findings)
    ignored = f", {report.ignored} ignored" if report.ignored else ""
    lines.append(f"{count} finding{'s' * (count != 1)}{ignored}")
    return lines


def _read(report: PreflightReport) -> str:
    if len(report.files) <= _SHOWN_FILES:
        return ", ".join(f"{item.file} ({item.kind})" for item in report.files)
    kinds = Counter(item.kind for item in report.files)
    parts = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    return f"{len(report.files)} files ({parts}); --format json names them"


def findings_github(report: PreflightReport) -> str:
    """Write the findings as workflow commands, which GitHub shows beside the changed lines."""
    lines = []
    for item in report.findings:
        level = "error" if item.severity in ("critical", "high") else "warning"
        place = f"file={_property(item.file)},line={item.line or 1},title={_property(item.id)}"
        text = f"{item.message}\nFix: {item.fix}\ndenpex show {item.id}"
        lines.append(f"::{level} {place}::{_data(text)}\n")
    return "".join(lines)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def findings_sarif(report: PreflightReport, version: str) -> str:
    """Write the findings as SARIF 2.1.0."""
    ids = list(dict.fromkeys(item.id for item in report.findings))
    titles = {item.id: item.title for item in report.findings}
    rules = [
        {
            "id": entry_id,
            "shortDescription": {"text": titles[entry_id]},
            "help": {"text": f"denpex show {entry_id}"},
        }
        for entry_id in ids
    ]
    driver = {"name": "denpex", "version": version, "semanticVersion": version, "rules": rules}
    run = {
        "tool": {"driver": driver},
        "results": [_result(item, ids.index(item.id)) for item in report.findings],
        "artifacts": [{"location": {"uri": _uri(item.file)}} for item in report.files],
        "columnKind": "unicodeCodePoints",
    }
    return to_json({"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [run]})


def _result(item: PreflightFinding, index: int) -> dict[str, Any]:
    place = {"artifactLocation": {"uri": _uri(item.file)}, "region": {"startLine": item.line or 1}}
    return {
        "ruleId": item.id,
        "ruleIndex": index,
        "level": "error" if item.severity in ("critical", "high") else "warning",
        "message": {"text": f"{item.message} Fix: {item.fix}"},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"denpexRule/v1": f"{item.id}/{item.rule}"},
    }


def _uri(file: str) -> str:
    return quote(PurePosixPath(file).as_posix(), safe="/:")
