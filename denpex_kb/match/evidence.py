"""Which signatures of an entry are fulfilled, and by which lines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from denpex_kb.model.conditions import holds
from denpex_kb.model.events import Identity, Seen, identity
from denpex_kb.model.facts import Fact, FactSet
from denpex_kb.model.rules import Rule, RuleSet, RuleSignature

Hits = dict[str, dict[str, list[Seen]]]  # entry id → signature name → lines


class Told(Protocol):
    """A relation that holds, and what it says."""

    @property
    def text(self) -> str:
        """What the relation says, for people."""


class Witness(Struct, frozen=True):
    """A fulfilled signature: the lines that show it, or the fact or relation that stands for it."""

    signature: RuleSignature
    lines: tuple[Seen, ...] = ()
    fact: Fact | None = None
    relation: str | None = None
    said: str = ""
    count: int = 0

    @property
    def first(self) -> Seen | None:
        """The line that proves it."""
        return self.lines[0] if self.lines else None


def collect_hits(seen: Iterable[Seen], rules: RuleSet) -> Hits:
    """Sort matched lines by entry and signature."""
    hits: Hits = defaultdict(lambda: defaultdict(list))
    for item in seen:
        for match in item.matches:
            pattern = rules.patterns[match.pattern]
            if pattern.target == "signature":
                hits[pattern.owner][pattern.name].append(item)
    return hits


def witnesses(
    rule: Rule, hits: Mapping[str, list[Seen]], facts: FactSet, relations: Mapping[str, Told]
) -> list[Witness]:
    """Return every fulfilled signature of an entry, parts included."""
    found: dict[str, Witness] = {}
    pending = list(rule.signatures)
    for signature in pending:
        witness = _simple(signature, hits, facts, relations)
        if witness is not None:
            found[signature.name] = witness
    # combinations may combine combinations; each round can only fulfil more
    combined = [signature for signature in pending if signature.members]
    for _ in range(len(combined)):
        fresh = [
            witness
            for signature in combined
            if signature.name not in found and (witness := _combined(signature, found)) is not None
        ]
        if not fresh:
            break
        found.update({witness.signature.name: witness for witness in fresh})
    return list(found.values())


def _simple(
    signature: RuleSignature, hits: Mapping[str, list[Seen]], facts: FactSet, relations: Mapping[str, Told]
) -> Witness | None:
    if signature.body == "pattern":
        lines = hits.get(signature.name)
        return Witness(signature, tuple(lines), count=len(lines)) if lines else None
    if signature.body == "fact" and signature.condition is not None and holds(signature.condition, facts):
        return Witness(signature, fact=facts.of(signature.condition.fact)[0])
    if signature.relation is not None and signature.relation in relations:
        return Witness(signature, relation=signature.relation, said=relations[signature.relation].text)
    return None


def _combined(signature: RuleSignature, found: Mapping[str, Witness]) -> Witness | None:
    members = [found[name] for name in signature.members if name in found]
    if signature.body == "any_of":
        if not members:
            return None
    elif len(members) < len(signature.members):
        return None
    forbidden = [found[name] for name in signature.forbidden if name in found]
    if any(not item.lines for item in forbidden):
        return None  # a fact or a relation holds for the whole job
    lines = _together(
        signature,
        [member.lines for member in members if member.lines],
        [line for item in forbidden for line in item.lines],
    )
    if lines is None:
        return None
    return Witness(signature, lines, count=max((member.count for member in members), default=0))


def _together(
    signature: RuleSignature, groups: Sequence[tuple[Seen, ...]], forbidden: Sequence[Seen]
) -> tuple[Seen, ...] | None:
    """Return one line per member that stand together as `within` asks; None where there are none."""
    if not groups:
        return ()
    if signature.body == "any_of":
        lines = tuple(line for group in groups for line in group)
        blocked = {_key(signature.within, line) for line in forbidden}
        kept = tuple(line for line in lines if _key(signature.within, line) not in blocked)
        return kept or None
    if signature.within == "across":
        return None if forbidden else _across(groups)
    by_place: dict[object, list[list[Seen]]] = defaultdict(lambda: [[] for _ in groups])
    for index, group in enumerate(groups):
        for line in group:
            by_place[_key(signature.within, line)][index].append(line)
    blocked = {_key(signature.within, line) for line in forbidden}
    for place, lists in by_place.items():
        if place in blocked or not all(lists):
            continue
        if signature.body == "sequence":
            ordered = _in_order(lists)
            if ordered is not None:
                return ordered
            continue
        return tuple(lines[0] for lines in lists)
    return None


def _key(within: str, seen: Seen) -> object:
    line = seen.line
    if within == "line":
        return line.file, line.number
    if within == "traceback":
        return ("block", seen.block) if seen.block >= 0 else ("line", line.file, line.number)
    if within == "rank":
        return identity(line)
    return "job"


def _position(seen: Seen) -> tuple[int, int]:
    """Return where a line stands in its file; a line that holds a whole traceback has several places."""
    return seen.line.number, seen.line.offset


def _across(groups: Sequence[tuple[Seen, ...]]) -> tuple[Seen, ...] | None:
    """Choose one line per member so that at least two processes are involved."""
    firsts: list[dict[Identity, Seen]] = []
    for group in groups:
        per: dict[Identity, Seen] = {}
        for line in group:
            per.setdefault(identity(line.line), line)
        firsts.append(per)
    chosen = [next(iter(per.values())) for per in firsts]
    used = {identity(item.line) for item in chosen}
    if len(used) > 1:
        return tuple(chosen)
    only = next(iter(used))
    for index, per in enumerate(firsts):
        other = next((line for who, line in per.items() if who != only), None)
        if other is not None:
            chosen[index] = other
            return tuple(chosen)
    return None


def _in_order(lists: Sequence[Sequence[Seen]]) -> tuple[Seen, ...] | None:
    chosen: list[Seen] = []
    for unordered in lists:
        lines = sorted(unordered, key=lambda seen: (seen.line.file, _position(seen)))
        after = next(
            (
                line
                for line in lines
                if not chosen or (line.line.file == chosen[-1].line.file and _position(line) > _position(chosen[-1]))
            ),
            None,
        )
        if after is None:
            return None
        chosen.append(after)
    return tuple(chosen)
