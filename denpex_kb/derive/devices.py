"""Which device stands out: idle while all others spin in a collective, at a lower clock, or named as a straggler."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from denpex_kb.derive.blocks import mark_values
from denpex_kb.derive.collectives import Relation, rank_list
from denpex_kb.derive.exits import numbers
from denpex_kb.derive.places import place_of
from denpex_kb.derive.ranks import Ranks
from denpex_kb.model.events import Seen
from denpex_kb.model.rules import RuleSet

_SPINS, _IDLES = 90, 5  # per cent of use, from which a device spins and up to which it idles
_HELD = 500  # MiB of memory, from which a process is on the device
_LEAST = 3  # devices that must be in use
_ROW = 2  # lines below the name of a device on which its use stands
_NAMED = re.compile(r"rank=(\d{1,7})\b")


def idle_device(seen: Sequence[Seen], ranks: Ranks, rules: RuleSet) -> Relation | None:
    """Return the rank whose device idles in a table of nvidia-smi in which all others are fully at work.

    Kernels of collectives spin while they wait, so that a device at 100 % waits, and the idle one is waited for.
    """
    rows: dict[tuple[str, str | None], dict[int, tuple[int, Seen]]] = {}
    open_row: tuple[int, Seen] | None = None
    for item in seen:
        values = mark_values(item, rules)
        if "smi_gpu" in values:
            open_row = (int(values["smi_gpu"]), item)
            if open_row[0] == 0:  # another table begins: the last one counts
                rows[item.line.file, place_of(item.line)] = {}
        elif "smi_use" in values and open_row is not None:
            gpu, head = open_row
            open_row = None
            near = item.line.file == head.line.file and item.line.number - head.line.number <= _ROW
            if near and int(values["smi_held"]) >= _HELD:
                rows.setdefault((head.line.file, place_of(head.line)), {})[gpu] = (int(values["smi_use"]), item)
    found: list[tuple[int, str | None, Seen, int]] = []
    for (_, host), table in rows.items():
        idle = [gpu for gpu, (use, _) in table.items() if use <= _IDLES]
        spinning = [gpu for gpu, (use, _) in table.items() if use >= _SPINS]
        if len(idle) == 1 and len(spinning) == len(table) - 1 >= _LEAST - 1:
            found.append((idle[0], host, table[idle[0]][1], len(spinning)))
    if len(found) != 1:
        return None
    gpu, host, item, others = found[0]
    rank = _of_device(gpu, host, ranks)
    who = f"rank {rank}" if rank is not None else "its rank"
    text = f"GPU {gpu} idles while {others} others spin in a collective that {who} has not entered"
    return Relation("idle-device", text, () if rank is None else (rank,), (item,), host=host, culprit=True)


def slow_device(seen: Iterable[Seen], ranks: Ranks, rules: RuleSet) -> Relation | None:
    """Return the rank of the one device that runs at a lower clock than all others, or that a detector names."""
    held = list(seen)
    return _named(held, rules) or _throttled(held, ranks, rules) or _own_words(held, ranks, rules)


def _own_words(seen: Iterable[Seen], ranks: Ranks, rules: RuleSet) -> Relation | None:
    """The one rank that says of its own device that it is throttled."""
    said: dict[int, Seen] = {}
    for item in seen:
        if item.line.rank is not None and "throttled" in mark_values(item, rules):
            said[item.line.rank] = item
    if len(said) != 1 or not ranks.several:
        return None
    ((rank, item),) = said.items()
    return Relation(
        "slow-device", f"only rank {rank} says that its device is throttled", (rank,), (item,), culprit=True
    )


def _named(seen: Iterable[Seen], rules: RuleSet) -> Relation | None:
    """The ranks that the last report of a straggler detector names, if they are few."""
    found: tuple[tuple[int, ...], Seen] | None = None
    for item in seen:
        listed = mark_values(item, rules).get("stragglers")
        if listed is not None:
            named = tuple(sorted({int(rank) for rank in _NAMED.findall(listed)})) or numbers(listed)
            found = (named, item) if named else found
    if found is None or len(found[0]) != 1:
        return None
    text = f"a straggler report names {rank_list(found[0])}"
    return Relation("slow-device", text, found[0], (found[1],), culprit=True)


def _throttled(seen: Iterable[Seen], ranks: Ranks, rules: RuleSet) -> Relation | None:
    found = [
        (values["gpu"], item) for item in seen if "gpu" in (values := mark_values(item, rules)) and _is_row(item, rules)
    ]
    if len({(gpu, item.line.host) for gpu, item in found}) != 1:
        return None
    gpu, item = found[0]
    rank = _of_device(int(gpu), item.line.host, ranks)
    if rank is None:
        return None
    text = f"the device of rank {rank} (GPU {gpu}) runs at a lower clock than the others"
    return Relation("slow-device", text, (rank,), (item,), culprit=True)


def _of_device(gpu: int, host: str | None, ranks: Ranks) -> int | None:
    """Return the rank of a device of a table; of one host alone the number is the rank."""
    rank = ranks.of_local(gpu, host)
    if rank is None and not ranks.bases and len(set(ranks.hosts.values())) < 2:
        return gpu if ranks.world_size is None or gpu < ranks.world_size <= (ranks.per_node or gpu) else None
    return rank


def _is_row(item: Seen, rules: RuleSet) -> bool:
    return any(rules.patterns[match.pattern].owner == "gpu-throttled" for match in item.matches)
