"""What PyTorch's flight recorder kept of one rank's collectives."""

from __future__ import annotations

from msgspec import Struct

from denpex_kb.model.stacks import Frame

Sizes = tuple[tuple[int, ...], ...]


class Record(Struct, frozen=True):
    """One recorded collective or point-to-point operation."""

    group: str
    pg_id: int | None
    seq: int  # of the collective, or of the point-to-point operation, in its group
    op: str  # without the library's name: all_reduce, send 0->3
    inputs: Sizes | None
    outputs: Sizes | None
    dtypes: tuple[str, ...]
    state: str  # scheduled | started | completed
    retired: bool
    p2p: bool
    library: str = ""
    number: int = 0  # record_id
    created: int = 0  # nanoseconds
    frames: tuple[Frame, ...] = ()
    line: int = 0  # of the text in which it is shown

    @property
    def done(self) -> bool:
        """Whether the operation was completed on this rank."""
        return self.retired or self.state == "completed"


class GroupInfo(Struct, frozen=True):
    """A process group as one rank's dump describes it."""

    name: str
    desc: str = ""
    ranks: tuple[int, ...] = ()


class Progress(Struct, frozen=True):
    """How far one rank came in one group."""

    enqueued: int | None = None
    started: int | None = None
    completed: int | None = None


class Trace(Struct):
    """One rank's dump."""

    file: str
    rank: int | None
    records: tuple[Record, ...]
    groups: dict[str, GroupInfo]
    progress: dict[int, Progress]  # by the rank's own number of the group
    version: str = ""
