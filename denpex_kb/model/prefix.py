"""Formats of what launchers, collectors and loggers put in front of a message, and of time stamps."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

PrefixField = Literal[
    "rank",  # global rank
    "local_rank",  # rank on its node
    "group_rank",  # rank of the node (of its agent)
    "pg_rank",  # rank inside one process group; the global rank only in the default group
    "task",  # the scheduler's task number: the global rank, or the node with one launcher per node
    "host",
    "ip",
    "pid",
    "device",  # index of the GPU as the process sees it
    "pod",
    "role",
    "time",
]

TimePart = Literal[
    "year",
    "short_year",
    "month",
    "month_name",
    "day",
    "hour",
    "minute",
    "second",
    "fraction",
    "zone",
    "uptime",
]


class PrefixFormat(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One shape of prefix.

    The pattern (Python `re`) is tried where the prefixes before it end; its groups are read in the order of `gives`.
    """

    id: str
    pattern: str
    example: str | tuple[str, ...]
    gives: tuple[PrefixField, ...] = ()
    starts: str = ""  # the characters with which it may begin, as inside [...]; empty: any
    sampled: bool = False  # believed only in a file of whose lines most carry it
    keep: bool = False  # what it matches is read, but stays part of the message
    weight: int = 1  # how far its rank is believed: the highest wins, of equals the innermost

    @property
    def examples(self) -> tuple[str, ...]:
        """The example lines."""
        return (self.example,) if isinstance(self.example, str) else self.example


class TimeFormat(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One shape of time stamp; the groups of the pattern (Python `re`) are read in the order of `gives`."""

    id: str
    pattern: str
    example: str | tuple[str, ...]
    gives: tuple[TimePart, ...]

    @property
    def examples(self) -> tuple[str, ...]:
        """The example lines."""
        return (self.example,) if isinstance(self.example, str) else self.example
