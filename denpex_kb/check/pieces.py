"""A file of the set-up → what it is: a script, a config, a launch, a manifest, a list of packages."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

from msgspec import Struct

from denpex_kb.check.collect import Text
from denpex_kb.model.kb import Kb
from denpex_kb.read.configs import kind_of, line_of_key, parse_config
from denpex_kb.read.launches import Launch, launches
from denpex_kb.read.packages import Package, is_requirements, read_packages
from denpex_kb.read.pods import Pod, looks_like_manifest, pods
from denpex_kb.read.shell import Script, read_shell
from denpex_kb.read.source import Source

_SHELL = frozenset([".sh", ".bash", ".slurm", ".sbatch", ".sub", ".job", ""])
# a Python file without any of these words has nothing that a rule looks at
_TRAINING = re.compile(r"\b(?:torch|deepspeed|accelerate|transformers|lightning|pytorch_lightning|trl|peft|datasets)\b")
_CONFIG_WORDS = re.compile(
    r"zero_optimization|train_(?:micro_)?batch_size|distributed_type|compute_environment|deepspeed|fsdp|model_type|architectures"
    r"|output_dir|base_model|model_name_or_path|learning_rate|kind\s*:"
)


class Settings(Struct, frozen=True):
    """Settings of one kind with their place: a config file, the arguments of a call, the options of a command."""

    kind: str
    data: dict[str, Any]
    file: str
    line_of: Callable[[str], int | None]
    complete: bool = True  # a key that is not here is not given
    origin: str = "config"  # config | code
    name: str = ""  # what is called
    path: Path | None = None  # of a config file
    text: str = ""  # of a config file
    named: bool = True


class Launched(Struct, frozen=True):
    """A launch with the script that holds it."""

    launch: Launch
    script: Script
    pod: Pod | None = None


class Piece(Struct, frozen=True):
    """One file, read."""

    text: Text
    kind: str  # as shown to the user
    source: Source | None = None
    settings: Settings | None = None
    launches: tuple[Launched, ...] = ()
    pods: tuple[Pod, ...] = ()
    packages: tuple[Package, ...] = ()


def read_piece(text: Text, kb: Kb, notes: list[str]) -> Piece | None:
    """Read one file; None where it is nothing that a rule looks at."""
    name = PurePosixPath(text.path.name)
    suffix = name.suffix.lower()
    if is_requirements(text.path.name):
        packages = read_packages(text.text, text.name, kb)
        return Piece(text, "packages", packages=tuple(packages)) if packages else None
    if suffix == ".py":
        return _python(text, notes)
    if suffix in (".json", ".yaml", ".yml"):
        return _config(text, kb)
    if suffix in _SHELL:
        script = read_shell(text.text)
        found = tuple(Launched(launch, script) for launch in launches(script))
        slurm = "Slurm script" if script.slurm else "launch script"
        return Piece(text, slurm, launches=found) if found else None
    return None


def _python(text: Text, notes: list[str]) -> Piece | None:
    if not _TRAINING.search(text.text):
        return None
    try:
        return Piece(text, "Python", source=Source(text.name, text.text))
    except SyntaxError as error:
        where = f":{error.lineno}" if error.lineno else ""
        notes.append(f"{text.name}{where}: no Python that this version can parse, passed over")
        return None


def _config(text: Text, kb: Kb) -> Piece | None:
    if not _CONFIG_WORDS.search(text.text):
        return None
    if looks_like_manifest(text.text) and not text.text.lstrip().startswith("{"):
        found = pods(text.text)
        scripts = [(pod, read_shell(pod.command, pod.line)) for pod in found]
        started = tuple(Launched(launch, script, pod) for pod, script in scripts for launch in launches(script))
        return Piece(text, "Kubernetes manifest", launches=started, pods=tuple(found)) if found else None
    data = parse_config(text.text, text.path.name)
    kind = kind_of(data)
    if kind is None or (kind == "deepspeed" and not is_deepspeed(data, kb)):
        return None
    settings = Settings(
        kind, data, text.name, lambda key: line_of_key(text.text, key), path=text.path, text=text.text, named=text.named
    )
    return Piece(text, f"{kind} config", settings=settings)


def is_deepspeed(data: dict[str, Any], kb: Kb) -> bool:
    """Say whether a mapping is a DeepSpeed config: other programs have a train_batch_size too."""
    known = next(item.keys for item in kb.config_keys if item.file == "deepspeed" and not item.at)
    return isinstance(data.get("zero_optimization"), dict) or len(set(known) & data.keys()) >= 3
