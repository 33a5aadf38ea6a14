"""How far a failure reaches, and what to act on: rank, node, device, link."""

from __future__ import annotations

from denpex_kb.derive.nouns import Began
from denpex_kb.derive.ranks import Ranks
from denpex_kb.model.diagnosis import Scope

_FEW = 8


def scope_of(began: Began, ranks: Ranks) -> tuple[Scope, tuple[str, ...]]:
    """Return the scope of an incident and its targets, such as `rank 3`, `host gpu-07`, `GPU 5`."""
    initiating = began.initiating
    if initiating is None:
        return "undetermined", ()
    event = began.event
    kind = event.kind if event is not None else ""
    if began.everyone:
        return "all_ranks", ()
    targets = [f"rank {rank}" for rank in initiating.ranks[:_FEW]] if len(initiating.ranks) <= _FEW else []
    if initiating.host:
        targets.append(f"host {initiating.host}")
    values = event.values if event is not None else {}
    if "link" in values:
        return "link", (*targets, f"host {values['link']}")
    if kind == "hardware":
        targets += _device(began, ranks)
        return ("node" if initiating.host else "rank" if initiating.rank is not None else "undetermined"), tuple(
            targets
        )
    if kind == "scheduler" and initiating.rank is None:
        return ("node" if event is not None and "node" in event.name and initiating.host else "job"), tuple(targets)
    if initiating.rank is not None:
        return "rank", tuple(targets)
    if len(initiating.ranks) > 1:
        whole = initiating.host is not None and set(ranks.on(initiating.host)) == set(initiating.ranks)
        return ("node" if whole else "ranks"), tuple(targets)
    return "undetermined", tuple(targets)


def _device(began: Began, ranks: Ranks) -> list[str]:
    """Name the device by its index where a rank or the bus tells it, else by its place on the bus."""
    values = began.event.values if began.event is not None else {}
    rank = began.initiating.rank if began.initiating is not None else None
    if values.get("gpu"):
        return [f"GPU {values['gpu']}"]
    if rank is not None and (local := ranks.local_of(rank)) is not None:
        return [f"GPU {local}"]
    return [f"GPU {values['bus']}"] if values.get("bus") else []
