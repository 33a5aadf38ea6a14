"""What the `kb` commands do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from denpex_kb.api import KnowledgeBase
from denpex_kb.catalog import yamlfile
from denpex_kb.catalog.checks import Scope, check_catalog
from denpex_kb.catalog.findings import FileBroken, Finding
from denpex_kb.catalog.kbchecks import check_kb
from denpex_kb.catalog.kbfiles import load_kb
from denpex_kb.catalog.load import Loaded, load_catalog, parse_entry
from denpex_kb.errors import CatalogError, InputError, UsageError
from denpex_kb.index.build import build_index
from denpex_kb.index.open import open_index
from denpex_kb.index.places import Sources, public_sources
from denpex_kb.render.json import to_json
from denpex_kb.score.corpus import PARTS, Report, report_text, score_part
from denpex_kb.score.overlaps import check_overlaps
from denpex_kb.score.samples import check_samples
from denpex_kb.score.setups import check_setups


def run_check(paths: Sequence[Path], *, samples: bool) -> tuple[list[Finding], int]:
    """Check catalog folders or single entries; returns the findings and how many entries were looked at."""
    public = public_sources()
    try:
        kb = load_kb(public.kb)
    except FileBroken as broken:
        return broken.findings, 0
    base = load_catalog(public.catalogs[0])
    findings: list[Finding] = [] if paths else check_kb(kb, public.kb)
    folders: list[Path] = []
    wanted: dict[str, Path] = {}
    for path in paths or public.catalogs:
        if path.is_dir():
            known = path.resolve() in [folder.resolve() for folder in public.catalogs]
            loaded = base if path.resolve() == public.catalogs[0].resolve() else load_catalog(path)
            if not known:
                folders.append(path)
        elif path.is_file():
            loaded = _single(path)
        else:
            raise InputError(f"{path}: no such file or folder")
        findings += check_catalog(
            loaded, kb, Scope(kb, {entry.id: entry for entry in (*base.entries, *loaded.entries)}.values())
        )
        wanted.update(loaded.files)
    if samples and wanted:
        opened = KnowledgeBase(open_index(folders))
        findings += check_samples(opened, wanted)
        findings += check_overlaps(opened, wanted)
        findings += check_setups(opened.index, wanted)
    return sorted(set(findings)), len(wanted)


def _single(path: Path) -> Loaded:
    try:
        entry = parse_entry(path.read_text(encoding="utf-8"), str(path))
    except FileBroken as broken:
        return Loaded((), {}, tuple(broken.findings))
    return Loaded((entry,), {entry.id: path}, ())


def run_build(target: Path | None, catalogs: Sequence[Path]) -> str:
    """Compile the index and say where it lies."""
    if target is None:
        index = open_index(catalogs)
        return f"{index.path}: {index.size} entries, {len(index.rules.patterns)} patterns\n"
    public = public_sources()
    build_index(Sources(public.kb, (*public.catalogs, *catalogs)), target)
    return f"{target}\n"


def run_new(entry_id: str, hub: str, catalog: Path | None, log: Path | None = None) -> str:
    """Lay out a new entry's file, drafted from a log where one is given.

    Raises:
        UsageError: the id or the hub is unusable, or the entry exists.
    """
    from denpex_kb.catalog.scaffold import scaffold
    from denpex_kb.report.fill import fill_scaffold

    public = public_sources()
    kb = load_kb(public.kb)
    hubs = [item.id for item in kb.hubs]
    if hub not in hubs:
        raise UsageError(f"unknown hub {hub!r}; there are: {', '.join(hubs)}")
    root = catalog or public.catalogs[0]
    path = root / hub / f"{entry_id}.md"
    if path.exists():
        raise UsageError(f"{path} exists already")
    text = scaffold(entry_id, hub)
    said = ""
    samples = path.parent / entry_id
    if log is not None:
        from denpex_kb.report.draft import draft, healthy_samples

        drafted = draft(KnowledgeBase.open(), log, healthy_samples([*public.catalogs, *([catalog] if catalog else [])]))
        text = fill_scaffold(text, drafted)
        samples.mkdir(parents=True, exist_ok=True)
        (samples / "positive-1.log").write_text(drafted.sample, encoding="utf-8")
        said = "".join(
            f"  {item.name}: {item.strength}{''.join(f'; {doubt}' for doubt in item.doubts)}\n"
            for item in drafted.proposals
        )
        said = f"Proposed signatures:\n{said}The sample is redacted; look through it all the same.\n"
    samples.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return f"{said}{path}\nFill it in, put samples into {path.parent / entry_id}/, then run: denpex kb check {path}\n"


def run_stats(*, as_json: bool) -> str:
    """Count what the catalog covers."""
    index = open_index()
    entries = [index.entry(entry_id) for entry_id in index.ids()]
    groups: dict[str, Counter[str]] = {
        "hub": Counter(entry.meta.hub for entry in entries),
        "phase": Counter(entry.meta.phase for entry in entries),
        "kind": Counter(entry.meta.kind for entry in entries),
        "role": Counter(entry.meta.role for entry in entries),
        "verified": Counter(entry.meta.verified.how for entry in entries),
        "frequency": Counter(entry.meta.frequency for entry in entries),
        "verified in": Counter(f"{entry.meta.verified.when:%Y-%m}" for entry in entries),
    }
    signatures = sum(len(entry.meta.signatures) for entry in entries)
    if as_json:
        return to_json({"schema": "denpex.stats/1", "entries": len(entries), "signatures": signatures, **groups})
    lines = [f"{len(entries)} entries, {signatures} signatures"]
    for name, counter in groups.items():
        lines += ["", name, *(f"  {count:4}  {value}" for value, count in counter.most_common())]
    return "\n".join(lines) + "\n"


def run_score(
    corpus: Path,
    part: str | None,
    forms: Sequence[str],
    gate: Path | None,
    *,
    as_json: bool,
    progress: Callable[[str], None],
) -> tuple[str, list[str]]:
    """Score the parts of a corpus; returns the report and what lies below the gate.

    Raises:
        InputError: the corpus holds no cases.
        CatalogError: the gate cannot be read.
    """
    kb = KnowledgeBase.open()
    folders = [corpus / name for name in PARTS if (corpus / name / "cases.jsonl").exists()] or [corpus]
    if part is not None:
        folders = [folder for folder in folders if folder.name == part]
        if not folders:
            raise InputError(f"{corpus} has no part {part!r}")
    scores = [score_part(kb, folder, kb.index.rules.generic, progress, forms) for folder in folders]
    text = to_json(Report("denpex.score/1", tuple(scores))) if as_json else report_text(scores)
    below: list[str] = []
    if gate is not None:
        try:
            minima = yamlfile.read(gate.read_text(encoding="utf-8"), str(gate), dict[str, dict[str, float]])
        except FileBroken as broken:
            raise CatalogError(str(broken)) from broken
        except OSError as error:
            raise InputError(f"{gate}: {error.strerror}") from error
        for score in scores:
            for name, least in minima.get(score.part, {}).items():
                figure = msgspec.structs.asdict(score)[name]
                share = figure if isinstance(figure, float) else figure.share
                if share < least:
                    below.append(f"below the gate: {score.part} {name} is {share:.3f}, at least {least} is asked")
    return text, below
