"""What the preflight finds: a place in the set-up, the failure that it leads to, the fix that fits."""

from __future__ import annotations

from msgspec import Struct


class PreflightFinding(Struct, frozen=True, order=True):
    """A failure that a set-up will run into."""

    file: str
    line: int | None
    id: str
    message: str
    fix: str
    rule: str = ""
    title: str = ""
    severity: str = "high"
    because: tuple[str, ...] = ()  # the facts that decide, each with its place


class Undecided(Struct, frozen=True, order=True):
    """A failure that some versions of the packages run into and others do not, where the version is not known."""

    file: str
    line: int | None
    id: str
    needs: tuple[str, ...]  # the facts that would decide


class ReadFile(Struct, frozen=True, order=True):
    """A file that was read, and as what."""

    file: str
    kind: str


class SeenValue(Struct, frozen=True, rename={"from_": "from"}):
    """One value of a fact and where it stands."""

    value: str | int | bool
    from_: str


class PreflightReport(Struct, frozen=True):
    """The outcome of a preflight."""

    schema: str
    findings: tuple[PreflightFinding, ...]
    undecided: tuple[Undecided, ...]
    ignored: int
    files: tuple[ReadFile, ...]
    facts: dict[str, tuple[SeenValue, ...]]
    notes: tuple[str, ...]
