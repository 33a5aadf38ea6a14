"""A model's name, as people write it → its family."""

from __future__ import annotations

from denpex_kb.model.kb import Kb, ModelFamily


def family_of(name: str, kb: Kb) -> ModelFamily | None:
    """Find the family by model_type, architecture or a checkpoint's name (`org/Name-8x7B`); the longest name wins."""
    wanted = name.rstrip("/").lower().rpartition("/")[2]
    best: tuple[int, ModelFamily] | None = None
    for family in kb.models:
        if name == family.id or name in family.architectures:
            return family
        for known in family.names:
            if known in wanted and (best is None or len(known) > best[0]):
                best = (len(known), family)
    return best[1] if best else None
