"""Whether several ranks fail alike, so that none of them began it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from denpex_kb.derive.events import Event
from denpex_kb.derive.nouns import Scene
from denpex_kb.derive.ranks import Ranks

ALL = 0.8  # of the ranks that could fail, those that fail alike
_NOISE = re.compile(r"0x[0-9a-fA-F]+|\d+|'[^']{1,80}'|\"[^\"]{1,80}\"|/[\w./-]+")


def core_text(text: str) -> str:
    """Return a message without what differs from rank to rank."""
    return _NOISE.sub("N", text)[:200]


def same_failure(left: Event, right: Event) -> bool:
    """Say whether two processes print the same failure."""
    return left.kind == right.kind and core_text(left.line.text) == core_text(right.line.text)


def is_everyone(
    chosen: Event, alike: Sequence[Event], involved: Sequence[int], standing: Sequence[Event], scene: Scene
) -> bool:
    """Whether the failure is that of all ranks: all of them print it, or all that print anything."""
    processes = len({event.who for event in alike})
    ranks = scene.ranks
    expected = max(ranks.world_size or len(ranks.known), 1)
    if chosen.kind == "exception" and chosen.rank is None:
        # of one node whose lines have no rank: as many tracebacks as it has processes
        node = ranks.per_node if ranks.world_size is None and len(ranks.bases) <= 1 else None
        if _all_raise(standing, expected) or len(alike) >= max(node or expected, 2):
            return True
    if max(processes, len(involved)) < 2 or chosen.kind not in ("exception", "crash", "mismatch", "hardware"):
        return False
    if len(involved) > 1 and len(involved) >= ALL * expected:
        return True
    if chosen.kind != "exception":
        return False
    victims = {
        event.line.rank for event in standing if event.kind == "collateral" and event.line.rank is not None
    } - set(involved)
    return not victims and not scene.hangs and processes > 1


def _all_raise(standing: Iterable[Event], expected: int) -> bool:
    """Whether nearly all ranks raise the same exception, where the first line of it says not whose it is."""
    by_text: dict[str, set[int]] = defaultdict(set)
    for event in standing:
        if event.kind == "exception" and event.rank is not None:
            by_text[core_text(event.line.text)].add(event.rank)
    return any(len(ranks) > 1 and len(ranks) >= ALL * expected for ranks in by_text.values())


def is_alone(ranks: Ranks) -> bool:
    """Say whether the job has one rank, as far as the input shows: then no rank began it before another."""
    return not ranks.several and (ranks.world_size or 1) == 1
