"""The exit statuses of the commands."""

from __future__ import annotations

from enum import IntEnum, unique


@unique
class Exit(IntEnum):
    """What a command's exit status means."""

    RECOGNISED = 0  # ask, diagnose: a failure was recognised; elsewhere: done, clean
    NOTHING = 1  # ask, diagnose: nothing known matches, or nothing failed; kb check: findings
    UNUSABLE = 2  # the arguments or the input could not be used, or the answer could not be written
    FAULT = 70  # a fault of the program itself
    INTERRUPTED = 130
