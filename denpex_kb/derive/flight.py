"""Traces of several ranks against one another: who lags, who never came, whose calls do not match."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, structs

from denpex_kb.derive.collectives import Relation
from denpex_kb.derive.stacks import rank_list
from denpex_kb.model.events import Line, Seen
from denpex_kb.model.flight import GroupInfo, Record, Sizes, Trace

# What every rank must call with the same sizes; the others may rightly differ from rank to rank.
_EVEN = frozenset(
    {
        "all_reduce",
        "allreduce_coalesced",
        "_all_gather_base",
        "all_gather",
        "all_gather_single",
        "all_gather_into_tensor_coalesced",
        "_reduce_scatter_base",
        "reduce_scatter",
        "reduce_scatter_single",
        "reduce_scatter_tensor_coalesced",
        "broadcast",
        "reduce",
    }
)
# Of these, what differs was wrong even where it went through: NCCL does not compare sizes.
_EQUAL = frozenset({"all_reduce", "_all_gather_base", "_reduce_scatter_base"})
_FEW = 0.5  # of a group's traces that must be there before their absence says something


class _Edge(Struct, frozen=True):
    """One rank waits for another to come to an operation."""

    waiting: int
    waited: int
    record: Record
    group: _Group
    behind: bool  # the other one still waits in an earlier operation of the group, which this one completed


class _Side(Struct):
    """What one rank did in one group."""

    pending: dict[int, Record]
    by_seq: dict[int, Record]
    enqueued: int
    sends: list[Record]

    @property
    def at(self) -> int:
        """The first operation that is not complete: the one it waits in, or the next one it will call."""
        return min(self.pending) if self.pending else self.enqueued + 1


class _Group(Struct):
    """A process group over all traces."""

    info: GroupInfo
    sides: dict[int, _Side]
    expected: tuple[int, ...]

    @property
    def title(self) -> str:
        return self.info.desc if self.info.desc not in ("", "undefined") else f"group {self.info.name}"


def compare_traces(traces: Sequence[Trace]) -> tuple[Relation, ...]:
    """Find what the traces of all ranks show together.

    Sequence numbers are compared within one group only. Who waits for whom is followed through all groups, so that a
    rank that lags in one group because another group holds it is not blamed.
    """
    by_rank = {trace.rank: trace for trace in traces if trace.rank is not None}
    if not by_rank:
        return ()
    groups = _groups(by_rank)
    if not any(side.pending or side.sends for group in groups for side in group.sides.values()):
        return ()
    mismatches = list(_mismatches(groups, by_rank))
    if mismatches:
        return tuple(mismatches)
    edges = [edge for group in groups for edge in _edges(group, by_rank)]
    if not edges:
        return tuple(_alike(groups, by_rank))
    waiting = {edge.waiting for edge in edges}
    roots = {edge.waited for edge in edges} - waiting
    present = {rank for rank in roots if rank in by_rank}
    if present:
        return (_lag(present, edges, by_rank),)
    if roots:
        return tuple(_absent(roots, edges, by_rank))
    return (_crossed(edges, by_rank),)


class Standing(Struct, frozen=True):
    """Where one rank stands in the group in which most ranks wait."""

    group: str
    seq: int | None  # of the operation it waits in; None where it called nothing that is not complete
    op: str
    size: str
    enqueued: int
    completed: int
    seen: Seen


def standings(traces: Sequence[Trace]) -> dict[int, Standing]:
    """Say in which collective each rank waits, in the group in which most of them do."""
    by_rank = {trace.rank: trace for trace in traces if trace.rank is not None}
    waiting = [group for group in _groups(by_rank) if any(side.pending for side in group.sides.values())]
    if not waiting:
        return {}
    group = max(waiting, key=lambda group: (sum(bool(side.pending) for side in group.sides.values()), group.title))
    found: dict[int, Standing] = {}
    for rank, side in group.sides.items():
        record = side.pending[side.at] if side.pending else side.by_seq.get(side.enqueued)
        if record is None:
            continue
        done = side.at - 1
        seen = _seen(rank, record, by_rank[rank])
        amount = _amount(record.inputs)
        size = str(amount) if amount is not None else ""
        found[rank] = (
            Standing(group.title, side.at, record.op, size, side.enqueued, done, seen)
            if side.pending
            else Standing(group.title, None, record.op, "", side.enqueued, done, seen)
        )
    return found


def _groups(by_rank: Mapping[int, Trace]) -> list[_Group]:
    infos: dict[tuple[str, tuple[int, ...]], GroupInfo] = {}
    records: dict[tuple[str, tuple[int, ...]], dict[int, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for rank, trace in by_rank.items():
        for name, info in trace.groups.items():
            if info.ranks:
                infos.setdefault((name, info.ranks), info)
        for record in trace.records:
            info = trace.groups[record.group]
            key = (record.group, info.ranks)
            infos.setdefault(key, info)
            records[key][rank].append(record)
    found = []
    for key, members in records.items():
        info = infos[key]
        p2p = any(record.p2p for held in members.values() for record in held)
        expected = info.ranks or tuple(sorted(by_rank if key[0] == "0" else members))
        sides = {
            rank: _side(members.get(rank, []), by_rank[rank], trust_status=not p2p)
            for rank in expected
            if rank in by_rank
        }
        found.append(_Group(info, sides, expected))
    return found


def _side(records: Sequence[Record], trace: Trace, *, trust_status: bool) -> _Side:
    collectives = {record.seq: record for record in records if not record.p2p and record.op != "coalesced"}
    enqueued = max(collectives, default=-1)
    number = next((record.pg_id for record in records if record.pg_id is not None), None)
    status = trace.progress.get(number) if number is not None and trust_status else None
    if status is not None and status.enqueued is not None:
        enqueued = max(enqueued, status.enqueued)
    return _Side(
        {seq: record for seq, record in collectives.items() if not record.done},
        collectives,
        enqueued,
        [record for record in records if record.p2p and not record.done and record.op[:4] in ("send", "recv")],
    )


def _edges(group: _Group, by_rank: Mapping[int, Trace]) -> Iterator[_Edge]:
    for rank, side in group.sides.items():
        yield from _missed_meetings(rank, side, group)
        if not side.pending:
            continue
        record = side.pending[side.at]
        for other in group.expected:
            if other == rank:
                continue
            theirs = group.sides.get(other)
            if theirs is None:
                if other not in by_rank:
                    yield _Edge(rank, other, record, group, behind=False)
            elif theirs.at < side.at or (theirs.at == side.at and not theirs.pending):
                yield _Edge(rank, other, record, group, behind=bool(theirs.pending) and theirs.at < side.at)


def _missed_meetings(rank: int, side: _Side, group: _Group) -> Iterator[_Edge]:
    """Return whose answers to a send or a receive are missing."""
    met: set[tuple[int, str]] = set()
    for record in side.sends:
        kind = record.op[:4]
        peer = _peer(record, group)
        if peer is None or (peer, kind) in met:
            continue
        met.add((peer, kind))
        theirs = group.sides.get(peer)
        wanted = "recv" if kind == "send" else "send"
        if theirs is None or not any(
            other.op.startswith(wanted) and _peer(other, group) == rank for other in theirs.sends
        ):
            yield _Edge(rank, peer, record, group, behind=False)


def _peer(record: Record, group: _Group) -> int | None:
    """Return the global rank at the other end: `send 0->3`, `recv 3<-0` count within the group."""
    kind, _, ends = record.op.partition(" ")
    left, arrow, right = ends.partition("->" if kind == "send" else "<-")
    if not arrow or not right.isdigit() or not left.isdigit():
        return None
    number = int(right)
    members = sorted(group.expected)
    return members[number] if number < len(members) else None


def _mismatches(groups: Iterable[_Group], by_rank: Mapping[int, Trace]) -> Iterator[Relation]:
    """Compare the calls under one sequence number; the first that differ in a group count."""
    found: list[tuple[int, Relation]] = []
    for group in groups:
        for seq in sorted({seq for side in group.sides.values() for seq in side.by_seq}):
            calls = {rank: side.by_seq[seq] for rank, side in group.sides.items() if seq in side.by_seq}
            relation = _differing(calls, group, by_rank) if len(calls) > 1 else None
            if relation is not None:
                found.append((min(record.created for record in calls.values()), relation))
                break
    if found:
        yield min(found, key=lambda item: item[0])[1]


def _differing(calls: Mapping[int, Record], group: _Group, by_rank: Mapping[int, Trace]) -> Relation | None:
    seq = next(iter(calls.values())).seq
    by_op: dict[str, list[int]] = defaultdict(list)
    for rank, record in calls.items():
        by_op[record.op].append(rank)
    if len(by_op) > 1:
        odd = _odd({(op, ""): ranks for op, ranks in by_op.items()})
        told = "; ".join(
            f"{rank_list(ranks)} {op}" for op, ranks in sorted(by_op.items(), key=lambda item: len(item[1]))
        )
        text = f"sequence {seq} of {group.title}: {told}"
        return _relation("same-sequence-different-op", text, odd, calls, by_rank)
    pending = any(not record.done for record in calls.values())
    if next(iter(by_op)) not in (_EVEN if pending else _EQUAL):
        return None
    by_size: dict[tuple[str, str], list[int]] = defaultdict(list)
    for rank, record in calls.items():
        by_size[(str(_amount(record.inputs)), f"{_amount(record.outputs)} {','.join(record.dtypes)}")].append(rank)
    if len(by_size) < 2:
        return None
    told = "; ".join(
        f"{rank_list(ranks)} {calls[ranks[0]].op} of {_amount(calls[ranks[0]].inputs)} elements"
        for ranks in sorted(by_size.values(), key=len)
    )
    text = f"sequence {seq} of {group.title}: {told}"
    return _relation("same-sequence-different-size", text, _odd(by_size), calls, by_rank)


def _odd(parts: Mapping[tuple[str, str], Sequence[int]]) -> tuple[int, ...]:
    """Name the minority; where the ranks part evenly, those in a barrier, which left the path of the others."""
    total = sum(map(len, parts.values()))
    largest = max(map(len, parts.values()))
    if largest * 2 > total:
        return tuple(sorted(rank for ranks in parts.values() if len(ranks) < largest for rank in ranks))
    left = [ranks for (op, _), ranks in parts.items() if "barrier" in op]
    return tuple(sorted(left[0])) if len(left) == 1 else ()


def _amount(sizes: Sizes | None) -> int | None:
    return sum(math.prod(size) for size in sizes) if sizes is not None else None


def _lag(roots: set[int], edges: Sequence[_Edge], by_rank: Mapping[int, Trace]) -> Relation:
    """Write for whom everybody waits, shown at the smallest group in which it is so."""
    told: list[str] = []
    shown: dict[int, Record] = {}
    for ranks, edge in _by_meeting(roots, edges):
        others = sorted({item.waiting for item in edges if item.waited in ranks and item.group is edge.group})
        shown[edge.waiting] = edge.record
        for rank in ranks:
            side = edge.group.sides.get(rank)
            if side is not None and side.pending:
                shown[rank] = side.pending[side.at]
        told.append(_lag_text(ranks, others, edge))
    return _relation("rank-lags", "; ".join(told), tuple(sorted(roots)), shown, by_rank)


def _by_meeting(roots: set[int], edges: Sequence[_Edge]) -> Iterator[tuple[tuple[int, ...], _Edge]]:
    """Choose for each root the smallest group in which it is waited for; roots of one group stand together."""
    chosen: dict[int, list[int]] = defaultdict(list)
    best: dict[int, _Edge] = {}
    for root in sorted(roots):
        edge = min(
            (edge for edge in edges if edge.waited == root),
            key=lambda edge: (edge.record.p2p, len(edge.group.expected), edge.record.created),
        )
        chosen[id(edge.group)].append(root)
        best.setdefault(id(edge.group), edge)
    for key, ranks in chosen.items():
        yield tuple(ranks), best[key]


def _lag_text(ranks: Sequence[int], others: Sequence[int], edge: _Edge) -> str:
    record, title = edge.record, edge.group.title
    verb = "wait" if len(others) != 1 else "waits"
    if edge.behind:
        side = edge.group.sides[edge.waited]
        held = side.pending[side.at]
        return (
            f"{rank_list(ranks)} did not complete {held.op}, sequence {held.seq} of {title}; {rank_list(others)} did, "
            f"and {verb} in sequence {record.seq}"
        )
    what = "answered" if record.p2p else "called"
    call = f"{record.op}, sequence {record.seq} of {title}"
    return f"{rank_list(ranks)} never {what} {call}, in which {rank_list(others)} {verb}"


def _absent(roots: set[int], edges: Sequence[_Edge], by_rank: Mapping[int, Trace]) -> Iterator[Relation]:
    """Blame ranks without a trace only where most of their group has one."""
    for ranks, edge in _by_meeting(roots, edges):
        expected = edge.group.expected
        observed = tuple(rank for rank in expected if rank in by_rank)
        if len(observed) <= _FEW * len(expected):
            continue
        others = sorted({item.waiting for item in edges if item.waited in ranks})
        text = (
            f"{rank_list(ranks)} left no trace; {rank_list(others)} wait in {edge.record.op}, "
            f"sequence {edge.record.seq} of {edge.group.title}"
        )
        relation = _relation("missing-reporter", text, tuple(ranks), {edge.waiting: edge.record}, by_rank)
        basis = f"the ranks of {edge.group.title} in the traces"
        yield structs.replace(relation, expected=tuple(expected), observed=observed, basis=basis)
        return


def _crossed(edges: Sequence[_Edge], by_rank: Mapping[int, Trace]) -> Relation:
    """Ranks wait for one another in different operations: they took different ways."""
    first: dict[int, Record] = {}
    for edge in sorted(edges, key=lambda edge: edge.record.created):
        first.setdefault(edge.waiting, edge.record)
    parts: dict[tuple[str, str], list[int]] = defaultdict(list)
    for rank, record in first.items():
        parts[(record.op.split(" ")[0], record.group)].append(rank)
    told = "; ".join(
        f"{rank_list(ranks)} {'wait' if len(ranks) > 1 else 'waits'} in {first[ranks[0]].op} of group {group}"
        for (_, group), ranks in sorted(parts.items(), key=lambda item: len(item[1]))
    )
    odd = _odd(parts) if len(parts) > 1 else ()
    name = "rank-lags" if all(record.p2p for record in first.values()) else "same-sequence-different-op"
    return _relation(name, f"the ranks wait for one another: {told}", odd, first, by_rank)


def _alike(groups: Iterable[_Group], by_rank: Mapping[int, Trace]) -> Iterator[Relation]:
    """Everybody is at the same operation: nobody is to blame, the operation itself does not get through."""
    complete = [
        group
        for group in groups
        if len(group.expected) > 1
        and set(group.sides) == set(group.expected)
        and all(side.pending for side in group.sides.values())
        and len({side.at for side in group.sides.values()}) == 1
    ]
    if not complete:
        return
    group = min(complete, key=lambda group: min(side.pending[side.at].created for side in group.sides.values()))
    records = {rank: side.pending[side.at] for rank, side in group.sides.items()}
    record = next(iter(records.values()))
    text = f"all ranks of {group.title} wait in {record.op}, sequence {record.seq}"
    yield _relation("same-collective-everywhere", text, (), records, by_rank)


def _relation(
    name: str, text: str, ranks: tuple[int, ...], shown: Mapping[int, Record], by_rank: Mapping[int, Trace]
) -> Relation:
    order = sorted(shown, key=lambda rank: (rank not in ranks, rank))
    lines = tuple(_seen(rank, shown[rank], by_rank[rank]) for rank in order[:4])
    return Relation(name, text, ranks, lines, culprit=bool(ranks))


def _seen(rank: int, record: Record, trace: Trace) -> Seen:
    text = f"{record.op} seq={record.seq} group={record.group} state={record.state}"
    return Seen(Line(trace.file, record.line, text, rank=rank), ())
