"""What the modules of this room hand to one another: the scene of one attempt, and who began it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from denpex_kb.derive.clocks import Clocks
from denpex_kb.derive.collectives import Hang, Relation
from denpex_kb.derive.events import Event
from denpex_kb.derive.exits import Exit
from denpex_kb.derive.ranks import Ranks
from denpex_kb.model.diagnosis import Collateral, Initiating

Overtaken = Mapping[tuple[str, int], bool]  # (file, number) of a line → whether the run made progress after it


class Began(Struct, frozen=True):
    """What began the failure and what followed."""

    initiating: Initiating | None
    event: Event | None
    alike: tuple[Event, ...]  # the same failure on the other ranks
    collateral: tuple[Collateral, ...]
    events: tuple[Event, ...]
    everyone: bool = False
    relation: Relation | None = None  # what located the rank, where no line names it
    left_alone: str = ""  # why the run stands still although a rank reports its end
    rivals: tuple[Event, ...] = ()  # lines that explain too, and do not follow from the event


class Scene(Struct, frozen=True):
    """What is known of one attempt before anybody is accused."""

    events: tuple[Event, ...]
    exits: tuple[tuple[int, Exit], ...]  # rank, how it ended
    unnamed: tuple[Exit, ...]  # processes of which nothing tells the rank
    hangs: tuple[Hang, ...]
    relations: tuple[Relation, ...]  # the ones that locate, the most telling first
    ranks: Ranks
    clocks: Clocks
    overtaken: Overtaken
    reasons: Mapping[str, str]  # mark id → why such a line is collateral
    left_alone: str = ""
    still: str = ""  # what shows that the job stands still, where nothing failed
