"""The files of `kb/` → one typed `Kb`."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from denpex_kb.catalog import yamlfile
from denpex_kb.catalog.findings import FileBroken, Finding
from denpex_kb.model.facts import FactDeclaration
from denpex_kb.model.kb import ConfigKeys, Kb, Language, Mark, ModelFamily, Named, PathFormat, SelfMarking, Words
from denpex_kb.model.prefix import PrefixFormat, TimeFormat

T = TypeVar("T")


def load_kb(root: Path) -> Kb:
    """Read the shared knowledge.

    Raises:
        FileBroken: a file is missing or wrong.
    """

    def one(name: str, kind: type[T]) -> T:
        path = root / name
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise FileBroken([Finding(str(path), 1, f"cannot be read: {error.strerror}")]) from error
        return yamlfile.read(text, str(path), kind)

    def folder(name: str, kind: type[T]) -> tuple[T, ...]:
        files = sorted((root / name).glob("*.yaml"))
        if not files:
            raise FileBroken([Finding(str(root / name), 1, "holds no .yaml file")])
        return tuple(item for file in files for item in one(f"{name}/{file.name}", tuple[kind, ...]))  # type: ignore[valid-type]

    return Kb(
        categories=one("categories.yaml", tuple[Named, ...]),
        phases=one("phases.yaml", tuple[Named, ...]),
        hubs=one("hubs.yaml", tuple[Named, ...]),
        frameworks=one("frameworks.yaml", tuple[Named, ...]),
        relations=one("relations.yaml", tuple[Named, ...]),
        facts=folder("facts", FactDeclaration),
        marks=folder("marks", Mark),
        words=folder("vocabulary", Words),
        language=one("language.yaml", Language),
        models=one("models.yaml", tuple[ModelFamily, ...]),
        self_marking=one("frameworks_moe.yaml", tuple[SelfMarking, ...]),
        prefixes=one("prefixes.yaml", tuple[PrefixFormat, ...]),
        times=one("times.yaml", tuple[TimeFormat, ...]),
        paths=one("paths.yaml", tuple[PathFormat, ...]),
        common=one("common.yaml", tuple[str, ...]),
        config_keys=one("config_keys.yaml", tuple[ConfigKeys, ...]),
    )
