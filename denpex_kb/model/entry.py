"""An entry of the catalog: one failure, completely described."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

Kind = Literal["hang", "crash", "oom", "slow", "divergence", "silent-wrong"]
Role = Literal["initiating", "collateral"]
# specific: names a failure; generic: says what kind of thing happened, and gives way to what names it;
# summary: a launcher's own account, which gives way to everything
Standing = Literal["specific", "generic", "summary"]
Strength = Literal["decisive", "strong", "supporting", "part"]
Where = Literal["log", "stack", "kernel", "scheduler", "launcher", "config"]
Within = Literal["line", "traceback", "rank", "job", "across"]
ActionKind = Literal[
    "wait", "restart", "exclude_nodes", "fix_config", "fix_code", "fix_environment", "escalate", "capture"
]

Slug = Annotated[str, Meta(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
Text = Annotated[str, Meta(min_length=1)]


class Signature(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, rename={"forbidden": "not"}):
    """Evidence for an entry: exactly one of pattern, fact, relation, all_of, any_of, sequence."""

    name: Slug
    strength: Strength
    pattern: str | None = None
    unless: str | None = None
    where: Where = "log"
    example: str | tuple[str, ...] = ()
    fact: str | None = None
    relation: str | None = None
    all_of: tuple[str, ...] = ()
    any_of: tuple[str, ...] = ()
    sequence: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    within: Within = "rank"
    note: str | None = None

    @property
    def examples(self) -> tuple[str, ...]:
        """The example lines."""
        return (self.example,) if isinstance(self.example, str) else self.example

    @property
    def members(self) -> tuple[str, ...]:
        """The names of the signatures that this one combines."""
        return self.all_of or self.any_of or self.sequence


class Affected(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A framework and the versions in which the failure occurs."""

    framework: Slug
    versions: str | None = None  # PEP 440
    fixed_in: str | None = None
    note: str | None = None


class Action(Struct, frozen=True, forbid_unknown_fields=True):
    """What helps at three in the morning."""

    kind: ActionKind
    text: Text
    restart_helps: bool


class Lookalike(Struct, frozen=True, forbid_unknown_fields=True):
    """Another entry and the one sign that tells it apart."""

    id: Slug
    sign: Text


class Reference(Struct, frozen=True, forbid_unknown_fields=True):
    """An upstream issue, change, source file or page, and what it establishes."""

    url: Annotated[str, Meta(pattern=r"^https://\S+$")]
    establishes: Text


class Verified(Struct, frozen=True, forbid_unknown_fields=True):
    """How the entry is known to be true, and since when."""

    how: Literal["reproduced", "source", "maintainer", "reported"]
    when: dt.date
    what: Text


class PreflightRule(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One way in which a set-up shows that it will run into a failure."""

    name: Slug
    requires: tuple[str, ...] = ()  # all must be known to hold
    excludes: tuple[str, ...] = ()  # none may be known to hold
    message: Text | None = None  # what will happen and what to do; {fact.name} is filled in
    at: str | None = None  # the fact whose place is shown; the first of `requires` when left out


class Preflight(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """When a set-up will run into this failure.

    `requires` and `excludes` hold beside the entry's own, for every rule. Without `rules` they are the one rule.
    """

    requires: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    message: Text | None = None
    at: str | None = None
    rules: tuple[PreflightRule, ...] = ()


class Edit(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A change of a config file that carries the fix out, as data."""

    file: Literal["deepspeed", "accelerate", "trainer"]
    key: Annotated[str, Meta(pattern=r"^[A-Za-z_][\w-]*(\.[A-Za-z_][\w-]*)*$")]  # dotted path
    value: Any = None  # any JSON value; {fact.name} in its strings is filled in
    remove: bool = False  # take the key out instead
    add: bool = False  # keep what stands there: append to a list, or to names separated by commas
    when: tuple[str, ...] = ()  # conditions on facts; all must hold
    variant: str | None = None  # the variant of the fix that this edit carries out


class VerifyResult(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How the outcome of the verification is read by a program."""

    prints: str | None = None  # a regular expression that some line must match
    never: str | None = None  # one that no line may match
    status: int | None = 0  # the exit status of the command; null: any


class FrontMatter(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """The YAML head of an entry's file."""

    id: Slug
    title: Annotated[str, Meta(min_length=8, max_length=110)]
    aliases: tuple[Slug, ...] = ()
    category: Text
    hub: Slug
    phase: Slug
    kind: Kind
    role: Role
    standing: Standing = "specific"
    severity: Literal["critical", "high", "medium", "low"]
    frequency: Literal["rare", "occasional", "common", "very-common"]
    tags: Annotated[tuple[str, ...], Meta(min_length=1)]
    affected: Annotated[tuple[Affected, ...], Meta(min_length=1)]
    models: tuple[str, ...] = ()
    launchers: tuple[str, ...] = ()
    hardware: tuple[str, ...] = ()
    signatures: tuple[Signature, ...] = ()
    specialises: Slug | None = None
    requires: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    preflight: Preflight | None = None
    diagram: dict[str, Any] | None = None
    edits: tuple[Edit, ...] = ()
    result: VerifyResult | None = None
    action: Action
    lookalikes: tuple[Lookalike, ...] = ()
    questions: Annotated[tuple[str, ...], Meta(min_length=3)]
    references: Annotated[tuple[Reference, ...], Meta(min_length=1)]
    verified: Verified


class Snippet(Struct, frozen=True):
    """A block of code in a fix."""

    language: str
    text: str


class Variant(Struct, frozen=True):
    """One way to apply the fix, under its own conditions."""

    title: str
    when: tuple[str, ...]
    steps: tuple[str, ...]
    snippets: tuple[Snippet, ...]
    notes: tuple[str, ...]  # paragraphs: cost, undo, remarks
    needs: tuple[str, ...] = ()  # versions that the variant needs; older ones are upgraded first


class Fix(Struct, frozen=True):
    """What the fix does, and its variants; the first is the one to try."""

    summary: str
    variants: tuple[Variant, ...]


class Verification(Struct, frozen=True):
    """How to see that the fix worked."""

    command: str
    language: str
    expect: str
    notes: tuple[str, ...] = ()


class ChecklistItem(Struct, frozen=True):
    """One box of the checklist and the command that shows it."""

    text: str
    command: str | None = None


class Body(Struct, frozen=True):
    """The Markdown body of an entry, taken apart."""

    summary: str
    symptoms: str
    root_cause: str
    affected_setups: str
    fix: Fix
    verify: Verification
    checklist: tuple[ChecklistItem, ...]
    if_not: str
    markdown: str


class Entry(Struct, frozen=True):
    """One failure of the catalog."""

    meta: FrontMatter
    body: Body
    origin: str = "denpex"  # the catalog that it comes from

    @property
    def id(self) -> str:
        """The entry's stable id."""
        return self.meta.id


class Summary(Struct, frozen=True):
    """What a list shows of an entry."""

    id: str
    title: str
    hub: str
    phase: str
    kind: str
    category: str
    role: str
    tags: tuple[str, ...]
    frameworks: tuple[str, ...]
    summary: str
    frequency: str
