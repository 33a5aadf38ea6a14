"""Files that belong together → set-ups: what one job is made of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from denpex_kb.check.pieces import Launched, Piece, Settings
from denpex_kb.check.program import Program, Programs, call_settings, code_facts
from denpex_kb.model.facts import Fact
from denpex_kb.model.kb import Kb
from denpex_kb.read.configs import line_of_key, read_config
from denpex_kb.read.launches import Launch
from denpex_kb.read.packages import Package
from denpex_kb.read.settings import stated
from denpex_kb.read.source import Source

MAX_SETUPS = 5000
_REFERENCES = (
    "deepspeed", "deepspeed_config", "deepspeed_config_file", "ds_config", "config_file", "config",
    "model_name_or_path", "base_model", "model", "model_id_or_path",
)  # fmt: skip
_MARKS = ("MOE_LAYER_CLS_NAMES", "moe_layer_cls_names", "moe_cls_names", "z3_leaf_module", "leaf_module")
_DISTRIBUTED = ("torchrun", "torch.distributed.launch", "deepspeed", "accelerate")


class Setup:
    """The files of one job, with the facts that they state."""

    def __init__(self, name: str, root: Path) -> None:
        """Begin a set-up; `name` is its first file."""
        self.name = name
        self.root = root
        self.facts: list[Fact] = []
        self.settings: list[Settings] = []
        self.program: Program | None = None
        self.launched: Launched | None = None
        self.folder: Path = root
        self.packages: list[Package] = []

    def add(self, settings: Settings, kb: Kb) -> None:
        """Add settings, and the facts that they state."""
        if any(item is settings for item in self.settings):
            return
        self.settings.append(settings)
        if settings.kind == "model" and settings.path is not None:
            self.facts += read_config(settings.text, settings.file, kb, named=settings.named) or []
            return
        origin: Any = settings.origin
        kinds = (
            (settings.kind, "arguments")
            if settings.kind == "trainer" and settings.origin == "code"
            else (settings.kind,)
        )
        for kind in kinds:
            self.facts += stated(
                settings.data, kind, settings.file, kb, settings.line_of, origin=origin, complete=settings.complete
            )

    def kinds(self) -> set[str]:
        """Return the kinds of config files at hand."""
        return {item.kind for item in self.settings if item.path is not None}

    def of(self, kind: str) -> list[Settings]:
        """Return the settings of a kind."""
        return [item for item in self.settings if item.kind == kind]


class Setups:
    """Finds the set-ups among the pieces."""

    def __init__(self, pieces: Sequence[Piece], kb: Kb, *, together: bool) -> None:
        """Take the pieces.

        Args:
            pieces: the files of the set-ups.
            kb: the declarations of the facts.
            together: the user named every file, so that they belong to one job.
        """
        self._kb = kb
        self._pieces = list(pieces)
        self._together = together
        self.programs = Programs(self._pieces)
        self._by_name: dict[str, list[Piece]] = {}
        for piece in self._pieces:
            self._by_name.setdefault(piece.text.path.name, []).append(piece)
        self._claimed: set[Path] = set()
        self._started: set[Path] = set()  # scripts that a launch starts
        self._facts: dict[Path, tuple[list[Fact], list[Settings]]] = {}
        self._stated: dict[str, list[list[Fact]]] = {}
        self._held: dict[str, list[Settings]] = {}
        self._trainers = {path for path, piece in self.programs.by_path.items() if self._trains(piece)}

    def all(self) -> Iterator[Setup]:
        """Go through the set-ups: launches first, then configs of frameworks, scripts, and single files."""
        yield from islice(self._every(), MAX_SETUPS)

    def _every(self) -> Iterator[Setup]:
        for piece in self._pieces:
            for launched in piece.launches:
                yield self._of_launch(piece, launched)
        for piece in self._pieces:
            yield from self._of_pods(piece)
            if piece.settings is not None and piece.settings.kind == "trainer" and piece.text.path not in self._claimed:
                setup = self._begin(piece)
                self._attach(setup, piece)
                yield setup
        for program in self.programs.all():
            if program.piece.text.path not in self._started:  # else the launch's variables and options count too
                yield self._of_program(program)
        for piece in self._pieces:
            if piece.settings is not None and piece.settings.kind in ("deepspeed", "accelerate"):
                setup = self._begin(piece)
                self._attach(setup, piece)
                yield setup

    def _of_pods(self, piece: Piece) -> Iterator[Setup]:
        """Go through pods whose command says nothing of training."""
        for pod in piece.pods if not piece.launches else ():
            setup = self._begin(piece)
            setup.add(Settings("pod", pod.settings, piece.text.name, lambda _, line=pod.line: line), self._kb)  # type: ignore[misc]
            yield setup

    def _begin(self, piece: Piece) -> Setup:
        setup = Setup(piece.text.name, piece.text.root)
        setup.folder = piece.text.path.parent
        return setup

    def _attach(self, setup: Setup, piece: Piece, depth: int = 0) -> None:
        """Add a config and those that it names."""
        if piece.settings is None or depth > 3:
            return
        self._claimed.add(piece.text.path)
        setup.add(piece.settings, self._kb)
        data = piece.settings.data
        nested = data.get("deepspeed_config")
        for held in (data, nested if isinstance(nested, dict) else {}):
            for key in _REFERENCES:
                value = held.get(key)
                if isinstance(value, str):
                    self._follow(setup, value, piece, key, depth)

    def _follow(self, setup: Setup, value: str, piece: Piece, key: str, depth: int = 0) -> None:
        """Add the file that a value names; where it is missing, the name of a DeepSpeed config tells its stage."""
        for target in self._named(value, piece):
            self._attach(setup, target, depth + 1)
            return
        stage = stage_of_name(value) if key in ("deepspeed", "deepspeed_config", "deepspeed_config_file") else None
        if stage is not None and not any(fact.name == "zero.stage" for fact in setup.facts):
            line = line_of_key(piece.text.text, key) or _line_of_text(piece.text.text, value)
            setup.facts.append(Fact("zero.stage", stage, "config", piece.text.name, line, None, f"{key}: {value}"))

    def _named(self, value: str, piece: Piece) -> list[Piece]:
        """Find the config that a path in a file means: beside it, or the only one of that name below the root."""
        path = PurePosixPath(value.removeprefix("./"))
        name = path.name
        if name not in self._by_name and not path.suffix:
            path, name = path / "config.json", "config.json"
        held = [item for item in self._by_name.get(name, []) if item.settings is not None]
        for folder in (piece.text.path.parent, piece.text.root, *piece.text.path.parent.parents):
            hits = [item for item in held if item.text.path == folder / path]
            if hits:
                return hits
            if folder == piece.text.root and folder != piece.text.path.parent:
                continue
        ending = [item for item in held if item.text.path.parts[-len(path.parts) :] == path.parts]
        return ending if len(ending) == 1 else []

    def _of_launch(self, piece: Piece, launched: Launched) -> Setup:
        setup = self._begin(piece)
        setup.launched = launched
        launch = launched.launch
        for settings in _launch_settings(piece.text.name, launched):
            setup.add(settings, self._kb)
        setup.facts += _launcher_facts(piece.text.name, launch)
        program = self._script(launch.script, piece) if launch.script is not None else None
        if program is not None:
            self._started.add(program.piece.text.path)
            self._add_program(setup, program)
        for options in (launch.options, launch.arguments):
            for key in _REFERENCES:
                if key in options:
                    self._follow(setup, options[key], piece, key)
        for value in launch.files:
            for target in self._named(value, piece):
                self._attach(setup, target)
        if program is not None and not setup.of("deepspeed"):
            self._nearby(setup, program)
        return setup

    def _script(self, value: str, piece: Piece) -> Program | None:
        path = PurePosixPath(value.removeprefix("./"))
        held = [item for item in self._by_name.get(path.name, []) if item.source is not None]
        for folder in (piece.text.path.parent, *piece.text.path.parent.parents):
            for item in held:
                if item.text.path == folder / path:
                    return self.programs.program(item.text.path)
        ending = [item for item in held if item.text.path.parts[-len(path.parts) :] == path.parts]
        return self.programs.program(ending[0].text.path) if len(ending) == 1 else None

    def _of_program(self, program: Program) -> Setup:
        setup = self._begin(program.piece)
        self._add_program(setup, program)
        if not setup.of("deepspeed"):
            self._nearby(setup, program)
        return setup

    def _add_program(self, setup: Setup, program: Program) -> None:
        setup.program = program
        setup.folder = program.piece.text.path.parent
        path = program.piece.text.path
        if path not in self._facts:
            self._facts[path] = (
                list(code_facts(program, self._kb, self._stated)),
                [item for source in program.sources for item in self._settings_of(source)],
            )
        facts, settings = self._facts[path]
        trainer_known = any(fact.name == "trainer" for fact in setup.facts)
        setup.facts += [fact for fact in facts if not (trainer_known and fact.name == "trainer")]
        for item in settings:
            setup.add(item, self._kb)
        if not any(fact.name == "deepspeed.leaf_modules" for fact in facts) and program.contains(*_MARKS):
            # in a way that the syntax tree does not show, such as a variable of the environment
            setup.facts.append(
                Fact("deepspeed.leaf_modules", "set", "code", program.main.name, None, None, "named in code")
            )
        if not program.imported or self._together:
            for value in dict.fromkeys(program.strings()):
                for target in self._named(value, program.piece):
                    self._attach(setup, target)
            for place, call in program.calls("*.from_pretrained"):
                value = place.literal(place.argument(call, 0))
                if isinstance(value, str) and len(value) < 300:
                    for target in self._named(value, program.piece):
                        self._attach(setup, target)

    def _settings_of(self, source: Source) -> list[Settings]:
        if source.name not in self._held:
            self._held[source.name] = call_settings(source, self._kb)
        return self._held[source.name]

    def _nearby(self, setup: Setup, program: Program) -> None:
        """Add the configs that lie with the only training script of a folder, where there is one of each kind."""
        if program.imported:
            return
        folder = program.piece.text.path.parent
        if self._together:
            candidates = self._pieces
        else:
            trainers = [path for path in self._trainers if path.is_relative_to(folder)]
            if trainers != [program.piece.text.path]:
                return
            candidates = [item for item in self._pieces if item.text.path.is_relative_to(folder)]
        for kind in ("deepspeed", "accelerate", "model"):
            found = [item for item in candidates if item.settings is not None and item.settings.kind == kind]
            if len(found) == 1 and not [item for item in setup.of(kind) if item.path is not None]:
                self._attach(setup, found[0])

    def _trains(self, piece: Piece) -> bool:
        source = piece.source
        return source is not None and bool(
            source.calls_of(
                "deepspeed.initialize",
                "accelerate.Accelerator",
                "torch.distributed.init_process_group",
                "*Trainer",
            )
        )


def _launch_settings(name: str, launched: Launched) -> Iterator[Settings]:
    """Go through the settings that a launch states: pod, Slurm, variables, options, arguments of the script."""
    launch, script, at = launched.launch, launched.script, launched.launch.line
    pod = launched.pod
    if pod is not None:
        yield Settings("pod", pod.settings, name, lambda _: pod.line)
    slurm = {key: value for key, (value, _) in script.slurm.items()} | (launch.srun or {})
    lines = {key: line for key, (_, line) in (*script.slurm.items(), *script.exported.items())}
    if slurm:
        yield Settings("slurm", slurm, name, lambda key: lines.get(key, at))
    variables = {key: value for key, (value, _) in script.exported.items()} | launch.variables
    yield Settings("env", variables, name, lambda key: lines.get(key, at), complete=False)
    if launch.launcher in _DISTRIBUTED:
        yield Settings("launch", launch.options, name, lambda _: at, complete=False)
    if launch.launcher == "accelerate":
        yield Settings("accelerate", launch.options, name, lambda _: at, complete=False)
    if launch.arguments:
        yield Settings("trainer", launch.arguments, name, lambda _: at, complete=False)


def _launcher_facts(name: str, launch: Launch) -> Iterator[Fact]:
    if launch.launcher in _DISTRIBUTED or launch.launcher == "python":
        spelt = "torchrun" if launch.launcher == "torch.distributed.launch" else launch.launcher
        yield Fact("launcher", spelt, "config", name, launch.line, None, launch.launcher)
    if launch.framework is not None:
        yield Fact("trainer", launch.framework, "config", name, launch.line, None, launch.framework)


def stage_of_name(value: str) -> int | None:
    """Read the ZeRO stage in a config's name: zero3.json, ds_z3_config.json, stage-2.json, or `zero3` alone."""
    found = set(
        re.findall(r"(?:zero|stage|(?<![a-z])z)(?:_?stage)?[-_]?([0-3])(?!\d)", PurePosixPath(value).name.lower())
    )
    return int(found.pop()) if len(found) == 1 else None


def _line_of_text(text: str, value: str) -> int | None:
    at = text.find(value)
    return text.count("\n", 0, at) + 1 if at >= 0 else None
