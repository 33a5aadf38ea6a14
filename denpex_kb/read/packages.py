"""Requirements, lock files, `pip list` and installed metadata → the versions of the packages that facts know."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from denpex_kb.model.kb import Kb

_LINE = re.compile(
    r"^\s*([A-Za-z][\w.-]*)\s*(?:\[[^\]]*\])?\s*((?:[=!<>~]=?=?[^;#\s,]+\s*,?\s*)+)?\s*(?:;.*|#.*|--hash.*|\\)?$"
)
_LISTED = re.compile(r"^([A-Za-z][\w.-]*)\s+(\d[\w.+!-]*)(?:\s+\S.*)?$")
_METADATA = re.compile(r"^([\w.]+?)-(\d[\w.+!]*)\.(?:dist-info|egg-info)$")
_ALIASES = {"pytorch-lightning": "lightning", "llamafactory": "llama-factory", "pytorch": "torch"}
MAX_LISTED = 20_000


class Package(Struct, frozen=True):
    """What is said of one package's version."""

    fact: str  # e.g. transformers.version
    exact: str | None  # the one version
    range: str  # PEP 440; empty: any
    file: str
    line: int | None
    rank: int  # how near to what runs: 0 installed, 1 locked or listed, 2 required


def known_packages(kb: Kb) -> dict[str, str]:
    """Map package names to the facts that hold their versions."""
    names = {name: item.fact for item in kb.frameworks if item.fact for name in (item.id, item.package) if name}
    names |= {alias: names[name] for alias, name in _ALIASES.items() if name in names}
    for name in ("nccl", "cuda", "nvidia-driver", "torchrun", "python"):
        names.pop(name, None)
    return names


def is_requirements(name: str) -> bool:
    """Say whether a file's name is that of a list of packages."""
    lowered = name.lower()
    return bool(
        re.fullmatch(
            r"(?:.*[-_.])?requirements?(?:[-_.].*)?\.(?:txt|in)|pip[-_]?(?:list|freeze)\.txt|freeze\.txt", lowered
        )
        or lowered in ("pyproject.toml", "uv.lock", "poetry.lock", "environment.yml", "environment.yaml", "conda.yaml")
    )


def read_packages(text: str, name: str, kb: Kb) -> list[Package]:
    """Read a list of packages by its file's name."""
    known = known_packages(kb)
    lowered = name.lower().rpartition("/")[2]
    if lowered == "pyproject.toml":
        return list(_pyproject(text, name, known))
    if lowered.endswith(".lock"):
        return list(_locked(text, name, known))
    if lowered.endswith((".yml", ".yaml")):
        text = re.sub(r"(?m)^\s*-\s*", "", text)
        text = re.sub(r"(?m)^([\w.-]+)=(\d[\w.]*)(?:=\S+)?$", r"\1==\2", text)
    rank = 1 if "freeze" in lowered or "list" in lowered else 2
    return list(_lines(text.split("\n"), name, known, rank))


def _lines(lines: Iterable[str], name: str, known: dict[str, str], rank: int) -> Iterator[Package]:
    for number, line in enumerate(lines, 1):
        if number > MAX_LISTED:
            return
        if len(line) > 500:
            continue
        listed = _LISTED.match(line.strip())
        if listed and _name(listed[1]) in known:
            yield Package(known[_name(listed[1])], listed[2], "", name, number, 1)
            continue
        match = _LINE.match(line)
        if match and _name(match[1]) in known:
            yield _package(known[_name(match[1])], match[2] or "", name, number, rank)


def _package(fact: str, specifier: str, name: str, line: int | None, rank: int) -> Package:
    specifier = specifier.replace(" ", "").rstrip(",")
    exact = re.fullmatch(r"={2,3}v?(\d[\w.+!]*)", specifier)
    return Package(fact, exact[1] if exact else None, "" if exact else specifier, name, line, rank)


def _pyproject(text: str, name: str, known: dict[str, str]) -> Iterator[Package]:
    data = _toml(text)
    project = data.get("project")
    wanted = project.get("dependencies", []) if isinstance(project, dict) else []
    for item in wanted if isinstance(wanted, list) else []:
        match = _LINE.match(str(item))
        if match and _name(match[1]) in known:
            at = text.find(str(item))
            yield _package(known[_name(match[1])], match[2] or "", name, text.count("\n", 0, max(at, 0)) + 1, 2)


def _locked(text: str, name: str, known: dict[str, str]) -> Iterator[Package]:
    for item in _toml(text).get("package", []):
        if isinstance(item, dict) and _name(str(item.get("name"))) in known and item.get("version"):
            at = text.find(f'name = "{item["name"]}"')
            line = text.count("\n", 0, max(at, 0)) + 1
            yield Package(known[_name(str(item["name"]))], str(item["version"]), "", name, line, 1)


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def installed(folder: Path, kb: Kb) -> list[Package]:
    """Read what is installed below a prefix (a virtual or conda environment) or in a site-packages folder.

    Nothing is imported: the names of the metadata folders say it.
    """
    known = known_packages(kb)
    folders = [folder, *sorted(folder.glob("lib/python3.*/site-packages")), folder / "Lib" / "site-packages"]
    found = []
    for place in folders:
        try:
            names = sorted(item.name for item in place.iterdir())
        except OSError:
            continue
        for item in names[:MAX_LISTED]:
            match = _METADATA.match(item)
            if match and _name(match[1]) in known:
                found.append(Package(known[_name(match[1])], match[2], "", str(place / item), None, 0))
    return found


def _name(text: str) -> str:
    return re.sub(r"[-_.]+", "-", text).lower()
