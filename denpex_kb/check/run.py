"""Paths → the report of the preflight."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from denpex_kb.advise.fix import fit_fix
from denpex_kb.advise.placeholders import Filler
from denpex_kb.check.collect import Text, collect
from denpex_kb.check.ignores import Ignores
from denpex_kb.check.launching import launch_facts, neighbours
from denpex_kb.check.mismatches import MISMATCHES
from denpex_kb.check.models import add_model_facts
from denpex_kb.check.pieces import Piece, read_piece
from denpex_kb.check.program import Program
from denpex_kb.check.rules import Met, Open, Rule, apply, make_rules
from denpex_kb.check.setups import Setup, Setups
from denpex_kb.check.shapes import SHAPES
from denpex_kb.check.verdicts import Known
from denpex_kb.errors import InputError, UsageError
from denpex_kb.index.open import Index
from denpex_kb.model.diagnosis import FixAdvice
from denpex_kb.model.facts import Fact, FactSet
from denpex_kb.model.kb import Kb
from denpex_kb.model.preflight import PreflightFinding, PreflightReport, ReadFile, SeenValue, Undecided
from denpex_kb.read.packages import Package, installed

SCHEMA = "denpex.check/1"
_CODE_LINES = 6


def check_paths(
    paths: Sequence[Path],
    index: Index,
    *,
    stated: Sequence[Fact] = (),
    environment: Path | None = None,
    ignored: Sequence[str] = (),
) -> PreflightReport:
    """Read a set-up and say which failures of the catalog it will run into.

    Args:
        paths: files and folders; files that are named themselves belong to one set-up.
        index: the catalog.
        stated: facts that the user states.
        environment: a virtual environment (or its site-packages) whose installed versions count.
        ignored: ids of entries to leave out.

    Raises:
        InputError: a path does not exist, cannot be read, or holds nothing that belongs to a set-up.
        UsageError: an ignored id is no entry's.
    """
    import gc

    collecting = gc.isenabled()
    gc.disable()  # syntax trees are millions of objects that live on: to look through them takes longer than parsing
    try:
        return _checked(paths, index, stated, environment, ignored)
    finally:
        if collecting:
            gc.enable()


def _checked(
    paths: Sequence[Path],
    index: Index,
    stated: Sequence[Fact],
    environment: Path | None,
    ignored: Sequence[str],
) -> PreflightReport:
    kb = index.kb
    known_ids = set(index.ids())
    for entry_id in ignored:
        if entry_id not in known_ids:
            raise UsageError(f"--ignore {entry_id}: no entry has this id; `denpex list` shows all")
    collected = collect(paths)
    notes = list(collected.notes)
    pieces = [piece for text in collected.texts if (piece := read_piece(text, kb, notes)) is not None]
    packages = _installed(environment, collected.environments, kb, notes)
    if not pieces:
        raise InputError(
            f"{', '.join(map(str, paths))}: no training script, config, launch script or manifest in there;"
            " name the project's folder or its files" + "".join(f"\n  {note}" for note in notes[:5])
        )
    together = all(text.named for text in collected.texts)
    rules = make_rules((index.entry(entry_id) for entry_id in index.preflight_ids), kb)
    run = _Run(rules, kb, pieces, packages, list(stated), together=together)
    run.go()
    return run.report(collected.texts, set(ignored), notes)


def _installed(environment: Path | None, found: Sequence[Path], kb: Kb, notes: list[str]) -> list[Package]:
    if environment is not None:
        if not environment.is_dir():
            raise InputError(f"--env {environment}: no such folder; name a virtual environment, e.g. --env .venv")
        packages = installed(environment, kb)
        if not packages:
            raise InputError(f"--env {environment}: no installed package of interest in there")
        return packages
    if len(found) == 1:
        packages = installed(found[0], kb)
        if packages:
            notes.append(f"versions of {len(packages)} packages are those installed in {found[0]}")
        return packages
    return []


class _Run:
    """One preflight: the rules over all set-ups."""

    def __init__(
        self,
        rules: list[Rule],
        kb: Kb,
        pieces: list[Piece],
        packages: list[Package],
        stated: list[Fact],
        *,
        together: bool,
    ) -> None:
        self._rules = rules
        self._kb = kb
        self._pieces = pieces
        self._packages = packages
        self._stated = stated
        self._together = together
        self._shapes: dict[Path, list[Fact]] = {}
        self._findings: dict[tuple[str, int | None, str], PreflightFinding] = {}
        self._open: dict[tuple[str, str], Undecided] = {}
        self._facts: dict[str, dict[tuple[str, str], SeenValue]] = {}

    def go(self) -> None:
        """Go through all set-ups."""
        for setup in Setups(self._pieces, self._kb, together=self._together).all():
            self._check(setup)
        for piece in self._pieces:
            facts = list(neighbours(piece))
            if facts:
                self._hold(Known([*self._stated, *facts], self._packages, self._kb), ())

    def _check(self, setup: Setup) -> None:
        names = {fact.name for fact in self._stated}
        facts = [*self._stated, *(fact for fact in self._all_facts(setup) if fact.name not in names)]
        packages = [*self._packages, *self._listed(setup)]
        known = Known(facts, packages, self._kb)
        add_model_facts(known, self._kb)
        self._hold(known, setup.kinds())

    def _all_facts(self, setup: Setup) -> Iterator[Fact]:
        program = setup.program
        shapes = self._shapes_of(program) if program is not None else []
        late = [fact for fact in shapes if fact.value == "leaf-too-late"]
        for fact in setup.facts:
            if not (late and fact.name == "deepspeed.leaf_modules"):
                yield fact
        for fact in late:
            yield Fact("deepspeed.leaf_modules", "too-late", "code", fact.file, fact.line, None, fact.text)
        yield from shapes
        yield from launch_facts(setup)
        yield from _nvme(setup)
        for find in MISMATCHES.values():
            yield from find(setup, self._kb)

    def _shapes_of(self, program: Program) -> list[Fact]:
        path = program.piece.text.path
        if path not in self._shapes:
            self._shapes[path] = [
                Fact("code.shape", name, "code", program.main.name, hit.line, None, hit.text)
                for name, find in SHAPES.items()
                for hit in find(program)
            ]
        return self._shapes[path]

    def _listed(self, setup: Setup) -> list[Package]:
        """Return the packages that the nearest lists name: beside the set-up, or in the folders above it."""
        found: list[Package] = []
        for folder in (setup.folder, *setup.folder.parents):
            lists = [piece for piece in self._pieces if piece.packages and piece.text.path.parent == folder]
            named = {package.fact for package in found}
            found += [package for piece in lists for package in piece.packages if package.fact not in named]
            if folder == setup.root:
                break
        return found

    def _hold(self, known: Known, kinds: Iterable[str]) -> None:
        for fact in known.all():
            value = SeenValue(fact.value, fact.source)
            self._facts.setdefault(fact.name, {}).setdefault((str(fact.value), fact.source), value)
        for rule in self._rules:
            met = apply(rule, known)
            if isinstance(met, Met):
                self._note(met, known, list(kinds))
            elif isinstance(met, Open):
                key = (rule.entry.id, met.place.file or "")
                self._open.setdefault(key, Undecided(met.place.file or "", met.place.line, rule.entry.id, met.needs))

    def _note(self, met: Met, known: Known, kinds: list[str]) -> None:
        facts = FactSet(known.all())
        entry = met.rule.entry
        advice = fit_fix(entry, facts, self._kb, edited=kinds)
        filler = Filler(facts, self._kb)
        fix = _short(advice) or entry.meta.action.text
        for place in met.places:
            key = (place.file or "", place.line, entry.id)
            text = (
                f" ({place.text})"
                if place.text and place.origin in ("code", "derived") and place.name != "zero.stage"
                else ""
            )
            self._findings.setdefault(
                key,
                PreflightFinding(
                    file=place.file or "",
                    line=place.line,
                    id=entry.id,
                    message=filler.fill(met.rule.message) + text,
                    fix=fix,
                    rule=met.rule.name,
                    title=entry.meta.title,
                    severity=entry.meta.severity,
                    because=tuple(f"{fact.name} = {fact.value} ({fact.source})" for fact in met.because),
                ),
            )

    def report(self, texts: Sequence[Text], ignored: set[str], notes: Sequence[str]) -> PreflightReport:
        """Put the findings together, without those that the user silenced."""
        ignores = Ignores({text.name: text.text for text in texts})
        kept = []
        silenced = 0
        for finding in sorted(self._findings.values(), key=lambda item: (item.file, item.line or 0, item.id)):
            if finding.id in ignored or ignores.covers(finding.file, finding.line, finding.id):
                silenced += 1
            else:
                kept.append(finding)
        found = {(item.id, item.file) for item in self._findings.values()}
        undecided = [
            item
            for item in self._open.values()
            if (item.id, item.file) not in found and item.needs and item.id not in ignored
            and not ignores.covers(item.file, item.line, item.id)
        ]  # fmt: skip
        return PreflightReport(
            schema=SCHEMA,
            findings=tuple(kept),
            undecided=tuple(sorted(undecided, key=lambda item: (item.file, item.line or 0, item.id))),
            ignored=silenced,
            files=tuple(ReadFile(piece.text.name, piece.kind) for piece in self._pieces),
            facts={name: tuple(held.values()) for name, held in sorted(self._facts.items())},
            notes=tuple(notes),
        )


def _short(advice: FixAdvice) -> str:
    """Return the variant of a fix that fits, in a few lines: its first step and the beginning of its code."""
    step = f"{advice.variant}: {advice.steps[0]}" if advice.steps else advice.variant or ""
    code = advice.snippets[0].text.strip().split("\n") if advice.snippets else []
    shown = [line for line in code if line.strip()]
    more = ["…"] if len(shown) > _CODE_LINES else []
    return "\n".join([step, *shown[:_CODE_LINES], *more])


def _nvme(setup: Setup) -> Iterator[Fact]:
    """Say whether an offload to NVMe names its path: the path belongs to the same section as the device."""
    for settings in setup.of("deepspeed"):
        zero = settings.data.get("zero_optimization")
        for name in ("offload_param", "offload_optimizer"):
            section = zero.get(name) if isinstance(zero, dict) else None
            if isinstance(section, dict) and section.get("device") == "nvme" and settings.complete:
                line = settings.line_of(f"zero_optimization.{name}.device")
                value = "given" if section.get("nvme_path") else "missing"
                yield Fact("deepspeed.nvme_path", value, "config", settings.file, line, None, f"{name}.device: nvme")
