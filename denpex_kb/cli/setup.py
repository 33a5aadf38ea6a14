"""The user's set-up as the commands take it: stated facts, configs, logs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from denpex_kb.advise.settings import read_settings, replace_facts
from denpex_kb.api import KnowledgeBase
from denpex_kb.derive.models import derive_model_facts
from denpex_kb.errors import InputError
from denpex_kb.model.facts import Fact, FactSet
from denpex_kb.read.configs import config_kind, read_config

_DERIVED = frozenset({"model.experts", "model.moe_block", "trainer.marks_block", "trainer.marks_since"})


class ConfigFile(Struct, frozen=True):
    """A config that the user named."""

    path: Path
    kind: str  # deepspeed | accelerate | model | trainer
    text: str


class Setup(Struct, frozen=True):
    """What is known of the user's set-up."""

    facts: FactSet
    configs: tuple[ConfigFile, ...] = ()
    words: dict[str, str] = {}  # words in capitals of a command → what to put in their place


def read_setup(
    kb: KnowledgeBase, settings: Sequence[str] = (), configs: Sequence[Path] = (), logs: Sequence[Path] = ()
) -> Setup:
    """Collect the facts of a set-up; what the user states wins over configs, and these over logs.

    Raises:
        UsageError: a setting cannot be read.
        InputError: a config cannot be read, or is of no known kind.
    """
    shared = kb.index.kb
    stated, words = read_settings(settings, shared)
    facts = FactSet()
    for log in logs:
        for name, values in kb.diagnose(log).facts.items():
            for value in values:
                facts.add(Fact(name, value.value, "log", value.from_))
    files = [_config(path) for path in configs]
    for file in files:
        found = read_config(file.text, file.path.name, shared, named=True) or []
        facts = replace_facts(facts, found)
    facts = replace_facts(_underived(facts), stated)
    derive_model_facts(facts, shared)
    return Setup(facts, tuple(files), words)


def _underived(facts: FactSet) -> FactSet:
    """Leave out what follows from other facts: it is derived anew from what is stated."""
    return FactSet(fact for fact in facts if fact.name not in _DERIVED)


def _config(path: Path) -> ConfigFile:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{path}: no UTF-8 text; a config is JSON or YAML") from None
    kind = config_kind(text, path.name)
    if kind is None:
        raise InputError(
            f"{path}: no DeepSpeed, Accelerate, model or trainer config; it is told by its keys, in JSON or YAML"
        )
    return ConfigFile(path, kind, text)
