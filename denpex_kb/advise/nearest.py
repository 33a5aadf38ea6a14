"""The entries that come near an unknown failure, and why none of them is the answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from denpex_kb.model.diagnosis import Hypothesis, Near, RuledOut
from denpex_kb.model.entry import Entry, Signature

_MOST = 4
_WEIGHT = {"decisive": 0, "strong": 1}


def nearest(near: Sequence[Hypothesis], ruled_out: Sequence[RuledOut], entries: dict[str, Entry]) -> tuple[Near, ...]:
    """Order them: those with signs of their own first, then those that a fact rules out."""
    found = [Near(item.id, item.title, _why_weak(item, entries.get(item.id))) for item in near[:_MOST]]
    seen = {item.id for item in found}
    found += [
        Near(out.id, entries[out.id].meta.title, f"its signs are there, but {out.because}")
        for out in ruled_out
        if out.id in entries and out.id not in seen
    ]
    return tuple(found[:_MOST])


def _why_weak(item: Hypothesis, entry: Entry | None) -> str:
    names = list(dict.fromkeys(piece.name for piece in item.evidence if piece.what != "fact"))
    parts = [f"only weak signs ({', '.join(names[:3])})" if names else "no sign of its own"]
    parts += [f"against it: {piece.text}" for piece in item.against[:1]]
    if entry is not None:
        missing = _missing(entry, set(names))
        if missing:
            parts.append(f"not seen: {missing}")
    return "; ".join(parts)


def _missing(entry: Entry, seen: set[str]) -> str:
    """Quote what the entry's strongest sign looks like, where the input does not hold it."""
    wanted: Iterable[Signature] = sorted(
        (
            item
            for item in entry.meta.signatures
            if item.strength in _WEIGHT and item.name not in seen and item.examples
        ),
        key=lambda item: _WEIGHT[item.strength],
    )
    example = next((item.examples[0].strip() for item in wanted), "")
    return f"“{example[:90]}{'…' * (len(example) > 90)}”" if example else ""
