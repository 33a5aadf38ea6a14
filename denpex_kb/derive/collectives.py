"""Who lags, who is out of step, who never reported: what the watchdogs of several ranks say together."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from denpex_kb.derive.events import Event
from denpex_kb.derive.ranks import Ranks
from denpex_kb.model.display import spans
from denpex_kb.model.events import Seen

_BARRIERS = frozenset({"BARRIER"})
_ONE_SIDED = frozenset({"BROADCAST", "SCATTER", "GATHER"})  # no step of training: against a barrier neither side is odd
_GATHERS = frozenset({"ALLGATHER", "_ALLGATHER_BASE"})
_SCATTERS = frozenset({"REDUCE_SCATTER", "_REDUCE_SCATTER_BASE"})
_MANY = 3  # reporters from which on a gap between their numbers tells
_NAMED = 6  # spans of ranks
_SETTLED = 0.5  # of the expected reporters, below which those that are missing say little


class Relation(Struct, frozen=True):
    """A relation that holds: the ranks it points at and the lines that show it."""

    name: str
    text: str
    ranks: tuple[int, ...] = ()
    lines: tuple[Seen, ...] = ()
    expected: tuple[int, ...] = ()
    observed: tuple[int, ...] = ()
    basis: str = ""
    coverage: str = ""
    host: str | None = None  # where the ranks of a host are not known
    culprit: bool = False  # whether the ranks are those that began it, rather than witnesses


class Report(Struct):
    """What one rank's watchdog says of the collective it waits in."""

    rank: int
    group: str
    seq: int
    op: str
    size: str
    seen: Seen
    hung: float | None = None  # when the hang began, by this rank's clock
    enqueued: int | None = None
    completed: int | None = None
    members: int | None = None  # ranks of the group, by what the collective makes of its input

    @property
    def call(self) -> str:
        """The operation and its size, in words."""
        return f"{self.op} of {self.size}" if self.size else self.op


class Hang(Struct, frozen=True):
    """The reports of one process group, the time-out and the time since which it hung."""

    group: str
    reports: tuple[Report, ...]
    began: float | None = None
    noticed: float | None = None
    others: Mapping[int, Status] = {}  # ranks that say how far they came, and report no time-out of their own
    doubtful: bool = False  # ranks that wait in a collective say as well that they have not enqueued it


class Status(Struct, frozen=True):
    """How far a rank came, by the answer of its monitor to the dump signal of another."""

    enqueued: int
    completed: int
    seen: Seen


def find_hangs(events: Iterable[Event]) -> list[Hang]:
    """Collect what the watchdogs say, the group that hung first in front.

    Sequence numbers of different groups mean different things, so that only ranks of one group are compared. The hang
    began `ran for` milliseconds before the watchdog's line.
    """
    groups: dict[str, dict[int, Report]] = defaultdict(dict)
    noticed: dict[str, float] = {}
    group_of: dict[int, str] = {}
    held = list(events)
    for event in held:
        if event.name == "collective-fingerprint":
            for place, report in enumerate(_fingerprint(event)):
                if place == 0:
                    groups["fingerprint"][report.rank] = report
                else:  # of the other rank it may quote another collective
                    groups["fingerprint"].setdefault(report.rank, report)
        rank = event.line.rank
        if rank is None or event.kind != "collateral":
            continue
        values = event.values
        group = _group(values)
        if group and "seq" in values:
            group_of.setdefault(rank, group)
        if "seq" in values and "op" in values and rank not in groups[group]:
            when = event.span.low if event.span is not None and event.span.exact else None
            hung = when - float(values["ran"]) / 1000 if when is not None and "ran" in values else None
            groups[group][rank] = Report(
                rank,
                group,
                int(values["seq"]),
                values["op"],
                values.get("numel_in", ""),
                event.seen,
                hung,
                members=_members(values),
            )
            if when is not None:
                noticed[group] = min(noticed.get(group, when), when)
    _attribute(groups, group_of, noticed)
    _add_status(held, groups)
    hangs = [_hang(group, members, noticed.get(group), held) for group, members in groups.items() if members]
    return sorted(hangs, key=lambda hang: (hang.began if hang.began is not None else float("inf"), -len(hang.reports)))


def _group(values: Mapping[str, str]) -> str:
    """Return the name of a process group with its description, which tells groups of one number apart; `0` of all."""
    return values.get("group", "").replace("(default_pg)", "").replace("(undefined)", "").strip()


def _members(values: Mapping[str, str]) -> int | None:
    """Return the size of a group: inputs in an all-gather's output, or outputs in a reduce-scatter's input."""
    small, large = values.get("numel_in", ""), values.get("numel_out", "")
    if values["op"] in _SCATTERS:
        small, large = large, small
    elif values["op"] not in _GATHERS:
        return None
    if not (small.isdigit() and large.isdigit() and int(small)) or int(large) % int(small):
        return None
    return int(large) // int(small)


def _attribute(groups: dict[str, dict[int, Report]], group_of: Mapping[int, str], noticed: dict[str, float]) -> None:
    """Give reports that name no group to the group that other lines of the same watchdog name."""
    for rank, report in list(groups.get("", {}).items()):
        group = group_of.get(rank)
        if group is not None:
            groups[group].setdefault(rank, report)
            del groups[""][rank]
            if "" in noticed:
                noticed[group] = min(noticed.get(group, noticed[""]), noticed[""])


def _hang(group: str, members: Mapping[int, Report], noticed: float | None, events: Iterable[Event]) -> Hang:
    starts = [report.hung for report in members.values() if report.hung is not None]
    others: dict[int, Status] = {}
    doubtful = False
    for event in events:
        rank, values = event.line.rank, event.values
        if rank is None or _group(values) != group or "enqueued" not in values:
            continue
        if rank in members:
            doubtful = doubtful or 0 <= int(values["enqueued"]) < members[rank].seq
            continue
        others.setdefault(rank, Status(int(values["enqueued"]), int(values.get("completed", "-1")), event.seen))
    return Hang(group, tuple(members.values()), min(starts, default=None), noticed, others, doubtful)


def _fingerprint(event: Event) -> list[Report]:
    values = event.values
    return [
        Report(int(values[rank]), "fingerprint", 0, values[op], values.get(shape, ""), event.seen)
        for rank, op, shape in (("reporter", "reporter_op", "reporter_shape"), ("other", "other_op", "other_shape"))
        if values.get(rank, "").isdigit() and op in values
    ]


def _add_status(events: Iterable[Event], groups: Mapping[str, Mapping[int, Report]]) -> None:
    """Add how far each rank came, which other lines of its watchdog state."""
    for event in events:
        rank = event.line.rank
        if rank is None or "enqueued" not in event.values:
            continue
        stated = _group(event.values)
        candidates = [groups[stated][rank]] if stated and rank in groups.get(stated, {}) else []
        candidates += [members[rank] for name, members in groups.items() if rank in members and name != stated]
        for report in candidates[:1]:
            if report.enqueued is None:
                report.enqueued = int(event.values["enqueued"])
                report.completed = int(event.values.get("completed", "-1"))


def compare(hang: Hang, ranks: Ranks) -> list[Relation]:
    """Return the relations between the ranks of one group: who is behind, who runs something else, or nobody."""
    reports = sorted(hang.reports, key=lambda report: report.rank)
    lines = tuple(report.seen for report in reports[:4])
    if (absent := _not_joined(hang)) is not None:
        return [absent]
    if len(reports) < 2:
        return []
    if (behind := _behind(reports)) is not None:
        return [behind]
    found: list[Relation] = []
    ops = _minority({report.rank: report.op for report in reports})
    if len({report.op for report in reports}) > 1:
        found.append(
            _out_of_step(
                "same-sequence-different-op",
                "one sequence number, different operations",
                reports,
                ops or _in_barrier(reports),
            )
        )
        return found
    sizes = {report.rank: report.size for report in reports if report.size}
    if len(set(sizes.values())) > 1:
        odd = _minority(sizes) or _in_barrier(reports)
        return [_out_of_step("same-sequence-different-size", "one sequence number, different sizes", reports, odd)]
    if ranks.world_size is not None and len(reports) == ranks.world_size:
        found.append(Relation("same-collective-everywhere", "all ranks wait in the same collective", (), lines))
    return found


def _not_joined(hang: Hang) -> Relation | None:
    """The ranks that had not even enqueued the collective in which the others timed out, by their own account."""
    numbers = {report.seq for report in hang.reports}
    if len(numbers) != 1 or not hang.others or hang.doubtful:
        return None
    seq = numbers.pop()
    late = sorted(rank for rank, status in hang.others.items() if 0 <= status.enqueued < seq)
    if not late or len(late) * 2 > len(hang.reports) + len(hang.others):
        return None
    enqueued = max(hang.others[rank].enqueued for rank in late)
    text = f"{rank_list(late)} had enqueued no more than collective {enqueued}, the others wait in {seq}"
    lines = (*(hang.others[rank].seen for rank in late[:2]), *(report.seen for report in hang.reports[:2]))
    return Relation("rank-lags", text, tuple(late), lines, culprit=True)


def _behind(reports: Sequence[Report]) -> Relation | None:
    """The rank with the smallest number waits in a collective that the others have left behind: they wait for it.

    One rank that is ahead of all others in another operation left out the collective in which they wait. Numbers that
    scatter point at nobody: no rank can complete a collective that another has not reached.
    """
    lowest, highest = min(report.seq for report in reports), max(report.seq for report in reports)
    if lowest == highest:
        return None
    late = [report for report in reports if report.seq == lowest]
    others = [report for report in reports if report.seq != lowest]
    if len(others) == 1 and len(late) > 1 and {report.op for report in late} == {late[0].op} != {others[0].op}:
        text = (
            f"rank {others[0].rank} is already in collective {highest} ({others[0].call}), the others wait in {lowest}"
            f" ({late[0].call})"
        )
        lines = (others[0].seen, *(report.seen for report in late[:2]))
        return Relation("rank-ahead", text, (others[0].rank,), lines, culprit=True)
    text = f"{rank_list([report.rank for report in late])} still in collective {lowest}, others in {highest}"
    few = len(late) <= len(others) and len({report.seq for report in others}) == 1
    return Relation(
        "rank-lags",
        text,
        tuple(report.rank for report in late),
        (*(report.seen for report in late[:2]), *(report.seen for report in others[:2])),
        culprit=few,
    )


def _out_of_step(name: str, text: str, reports: Sequence[Report], odd: Sequence[int]) -> Relation:
    apart = [report for report in reports if report.rank in odd]
    rest = [report for report in reports if report.rank not in odd]
    if apart:
        text = f"{text}: {rank_list(odd)} with {apart[0].call}, the others with {rest[0].call}"
    lines = (*(report.seen for report in apart[:2]), *(report.seen for report in rest[:2]))
    return Relation(name, text, tuple(odd), lines, culprit=bool(apart))


def _minority(values: Mapping[int, str]) -> tuple[int, ...]:
    """Return the ranks that differ from all others, where the others are more and agree."""
    counts = Counter(values.values())
    (common, most), *rest = counts.most_common()
    if len(rest) != 1 or rest[0][1] * 2 >= most + rest[0][1] or (most == 1):
        return ()
    return tuple(sorted(rank for rank, value in values.items() if value != common))


def _in_barrier(reports: Sequence[Report]) -> tuple[int, ...]:
    """Of two ranks, one in a barrier and one in a training collective, the first has left the common path."""
    waiting = [
        report.rank for report in reports if report.op in _BARRIERS or (report.op == "ALLREDUCE" and report.size == "1")
    ]
    if any(report.op in _ONE_SIDED for report in reports):
        return ()
    return tuple(waiting) if 0 < len(waiting) < len(reports) and len(waiting) * 2 <= len(reports) else ()


def missing_reporters(hang: Hang, ranks: Ranks, covered: frozenset[int], dead: frozenset[int]) -> Relation | None:
    """Return the ranks that should have reported the time-out and did not.

    Args:
        hang: the reports of the group.
        ranks: the ranks of the job.
        covered: ranks of whose output the input shows something, or whose file it holds.
        dead: ranks that fell before they could report.
    """
    expected, basis = _expected(hang, ranks)
    if not _is_default(hang, ranks) or expected != set(range(len(expected))):
        return None
    observed = {report.rank for report in hang.reports}
    numbers = {report.seq for report in hang.reports}
    if hang.doubtful:
        numbers = {0}
    observed |= {rank for rank, status in hang.others.items() if status.enqueued >= max(numbers)}
    missing = expected - observed - dead
    if not missing or len(observed) < _SETTLED * len(expected - dead):
        return None
    unseen = missing - covered
    if unseen and ranks.world_size is None and len(observed) <= len(missing):
        return None  # that half of a small group is not to be seen says nothing
    absent = unseen if len({report.seen.line.file for report in hang.reports}) == len(observed) > 1 else set()
    if absent and missing - absent:  # one file for each rank: who has one and is silent in it, not who has none
        missing, unseen = missing - absent, set()
    elif absent:
        return Relation(
            "missing-reporter",
            f"there is no log of {rank_list(sorted(absent))} here, the {len(observed)} others report the time-out",
            tuple(sorted(absent)),
            tuple(report.seen for report in hang.reports[:3]),
            tuple(sorted(expected)),
            tuple(sorted(observed)),
            basis,
            "none of them seen elsewhere in the input",
        )
    return Relation(
        "missing-reporter",
        f"{rank_list(sorted(missing))} never reported the time-out that {len(observed)} others report",
        tuple(sorted(missing)),
        tuple(report.seen for report in hang.reports[:3]),
        tuple(sorted(expected)),
        tuple(sorted(observed)),
        basis,
        "complete" if not unseen else f"{len(missing) - len(unseen)} of {len(missing)} seen elsewhere in the input",
        culprit=len(missing) <= len(observed),
    )


def _expected(hang: Hang, ranks: Ranks) -> tuple[set[int], str]:
    """Return which ranks take part in the group, and what that rests on."""
    if ranks.world_size is not None:
        return set(range(ranks.world_size)), ranks.basis
    sizes = {report.members for report in hang.reports}
    size = sizes.pop() if len(sizes) == 1 else None
    if size is not None and size > max(ranks.known, default=0):
        return set(range(size)), f"a group of {size}, by the sizes of what it gathers"
    # ranks are numbered without gaps: of many that report, the one between them that does not
    reporters = {report.rank for report in hang.reports}
    numbered = set(range(max(reporters) + 1))
    if len(reporters) >= _MANY and len(numbered - reporters) == 1:
        return numbered | set(ranks.known), "ranks are numbered from 0 without gaps"
    return set(ranks.known), "the ranks that the input shows"


def _is_default(hang: Hang, ranks: Ranks) -> bool:
    """Only the default group has all ranks; older watchdogs name no group, and then its size tells."""
    if hang.group in ("", "0"):
        return True
    size = ranks.world_size if ranks.world_size is not None else len(ranks.known)
    return len(hang.reports) * 2 > size


def rank_list(ranks: Sequence[int]) -> str:
    """Name some ranks in a sentence: `rank 3`, `ranks 3, 5-9`."""
    return f"rank{'s' * (len(ranks) != 1)} {spans(ranks, _NAMED)}"
