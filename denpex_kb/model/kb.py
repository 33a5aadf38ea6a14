"""What entries share: vocabulary, marks, launchers' prefixes, model families and closed lists."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from denpex_kb.model.facts import FactDeclaration, FactValue
from denpex_kb.model.prefix import PrefixFormat, TimeFormat

MarkClass = Literal[
    "hardware",  # a device or a link failed
    "kernel",  # the operating system killed or refused
    "scheduler",  # the cluster ended the job
    "exception",  # the last line of a traceback
    "quotes",  # a line that quotes an error to its end
    "traceback",  # the first line of a traceback
    "frame",  # a frame of a traceback
    "ignored",  # the interpreter says that the traceback below it goes unheeded
    "chained",  # a line behind which the traceback above it goes on
    "stack",  # the head of one process's or thread's stack in a dump
    "frame-plumbing",  # a frame that says nothing of what the process does
    "frame-wait",  # a frame that waits for other ranks
    "frame-aside",  # a frame of work beside the training step: saving, evaluation, data, logging
    "frame-helper",  # a frame of a helper process or thread
    "context",  # no event: it states who is who, or gives the lines below it a rank or a process
    "crash",  # a signal, an abort, a fatal line that is no traceback
    "mismatch",  # text that names ranks out of step
    "collateral",  # an event that another failure causes
    "summary",  # a launcher's own account of what failed
    "teardown",  # the launcher ends healthy processes
    "start",  # an attempt begins
    "restart",  # the launcher starts the workers again
    "progress",  # a step was completed
    "alive",  # no step of training, but the process went on
    "completion",  # the run ended well
    "exit",  # a process ended with a code
]


class Named(Struct, frozen=True, forbid_unknown_fields=True):
    """A value of a closed list, with the sentence that explains it."""

    id: str
    text: str = ""
    title: str = ""
    fact: str | None = None
    package: str = ""  # what pip calls it, where that is not the id


class Mark(Struct, frozen=True, forbid_unknown_fields=True):
    """A kind of line that many failures share and that orders a log.

    The groups of the pattern are read in the order of `gives`.
    """

    id: str
    kind: MarkClass
    pattern: str
    example: str | tuple[str, ...]
    unless: str | None = None
    gives: tuple[str, ...] = ()  # rank | local_rank | pid | exitcode | step | signal | peer | group | seq | ...
    note: str | None = None

    @property
    def examples(self) -> tuple[str, ...]:
        """The example lines."""
        return (self.example,) if isinstance(self.example, str) else self.example


class Words(Struct, frozen=True, forbid_unknown_fields=True):
    """The ways in which people write one value of one fact.

    `pattern` is a regular expression over the lower-cased text, for spellings that are a shape rather than words.
    """

    fact: str
    value: FactValue
    words: tuple[str, ...] = ()
    pattern: str | None = None
    implies: dict[str, FactValue] = {}


class Language(Struct, frozen=True, forbid_unknown_fields=True):
    """Words that carry no fact: to pass over, to count for little, those that mean the same, frequent misspellings."""

    ignore: tuple[str, ...] = ()
    faint: tuple[str, ...] = ()
    trouble: tuple[str, ...] = ()
    wondering: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    same: tuple[tuple[str, ...], ...] = ()
    misspelt: dict[str, str] = {}


class ExpertsRange(Struct, frozen=True, forbid_unknown_fields=True, rename={"is_": "is"}):
    """What a family's block does with experts that receive no token, in a range of transformers versions."""

    transformers: str
    is_: Literal["skipped", "all-called", "fused"]
    moe_block: str | None = None


class ModelFamily(Struct, frozen=True, forbid_unknown_fields=True):
    """A model family, the names that people and logs use for it, and its MoE block."""

    id: str  # transformers' model_type
    title: str
    names: tuple[str, ...]
    architectures: tuple[str, ...] = ()
    moe: bool = False
    multimodal: bool = False
    moe_block: str | None = None
    module: str | None = None
    experts: tuple[ExpertsRange, ...] = ()
    since: str | None = None  # the first transformers release that holds the family
    note: str | None = None


class SelfMarking(Struct, frozen=True, forbid_unknown_fields=True):
    """Families that a framework marks as ZeRO-3 leaf modules by itself, since a version."""

    framework: str
    versions: str
    families: tuple[str, ...]
    note: str | None = None


class PathFormat(Struct, frozen=True, forbid_unknown_fields=True):
    """A shape of path, searched below the named folder; its groups are read in the order of `gives`."""

    id: str
    pattern: str
    gives: tuple[Literal["rank", "local_rank", "task", "host", "attempt"], ...]
    example: str


class ConfigKeys(Struct, frozen=True, forbid_unknown_fields=True):
    """The keys that a program knows in one section of its config; others it ignores or refuses."""

    file: str  # the kind of config
    at: str  # dotted path of the section; empty: the top
    keys: tuple[str, ...]
    shape: str  # the value of `setup.mismatch` that a misspelt key states


class Kb(Struct, frozen=True):
    """Everything in `kb/`, read and typed."""

    categories: tuple[Named, ...]
    phases: tuple[Named, ...]
    hubs: tuple[Named, ...]
    frameworks: tuple[Named, ...]
    relations: tuple[Named, ...]
    facts: tuple[FactDeclaration, ...]
    marks: tuple[Mark, ...]
    words: tuple[Words, ...]
    language: Language
    models: tuple[ModelFamily, ...]
    self_marking: tuple[SelfMarking, ...]
    prefixes: tuple[PrefixFormat, ...]
    times: tuple[TimeFormat, ...]
    paths: tuple[PathFormat, ...]
    common: tuple[str, ...]  # lines that healthy runs print all the time
    config_keys: tuple[ConfigKeys, ...] = ()

    def fact(self, name: str) -> FactDeclaration | None:
        """Return the declaration of a fact."""
        return next((fact for fact in self.facts if fact.name == name), None)
