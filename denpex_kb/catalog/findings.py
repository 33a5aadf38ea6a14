"""What the checks find: a place, what is wrong there, and what to write instead."""

from __future__ import annotations

from msgspec import Struct


class Finding(Struct, frozen=True, order=True):
    """One finding of `denpex kb check`."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        """Write the finding as compilers do."""
        return f"{self.file}:{self.line}: {self.message}"


class FileBroken(Exception):
    """A file that cannot be turned into an object; carries what was found."""

    def __init__(self, findings: list[Finding]) -> None:
        """Keep the findings."""
        super().__init__("; ".join(map(str, findings)))
        self.findings = findings
