"""What NCCL's RAS client says of the ranks of a communicator: who is behind, who cannot be reached."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from denpex_kb.derive.blocks import mark_values
from denpex_kb.derive.collectives import Relation, rank_list
from denpex_kb.derive.exits import numbers
from denpex_kb.derive.ranks import Ranks
from denpex_kb.model.events import Seen
from denpex_kb.model.rules import RuleSet

_SHARE = 0.25  # of the ranks, above which they are no outliers
_SETTLED = 2  # operations by which a rank may be behind in passing


class _Section(Struct):
    """What is said of one communicator, or of the job."""

    head: Seen
    kind: str  # MISMATCH | INCOMPLETE | DEAD | ERROR
    counts: dict[int, int] = {}  # operation → ranks that have come so far
    listed: dict[int, tuple[int, Seen]] = {}  # rank → operation, line
    missing: dict[int, Seen] = {}
    processes: list[tuple[str, str, Seen]] = []  # host, devices, line
    at: int | None = None  # the operation of the ranks that are listed next


def ras_relation(seen: Iterable[Seen], ranks: Ranks, rules: RuleSet, *, failing: bool) -> tuple[Relation | None, str]:
    """Return which rank is behind or gone by a status of RAS, and what the status says.

    The ranks of a communicator are those of the job only where it holds all of them. A small lag may be of the moment
    at which RAS asked, so that it counts only beside a time-out.

    Args:
        seen: the matched lines of an attempt.
        ranks: the ranks of the job.
        rules: the compiled catalog.
        failing: whether the job has failed or timed out.
    """
    sections, total = _read(seen, rules)
    still = ""
    for section in sections:
        still = still or f"NCCL's RAS reports {section.kind} at {section.head.line.place}"
        found = _missing(section, ranks, total) or _lagging(section, total, failing=failing)
        if found is not None:
            return found, still
    return None, still


def _read(seen: Iterable[Seen], rules: RuleSet) -> tuple[list[_Section], int | None]:
    sections: list[_Section] = []
    total: int | None = None
    for item in seen:
        values = mark_values(item, rules)
        if "ras_total" in values:
            total = max(total or 0, int(values["ras_total"]))
        if "ras_kind" in values:
            sections.append(_Section(item, values["ras_kind"], {}, {}, {}, []))
        if not sections:
            continue
        section = sections[-1]
        if "ras_count" in values:
            section.at = int(values.get("ras_upto", "0"))
            section.counts[section.at] = section.counts.get(section.at, 0) + int(values["ras_count"])
        if "ras_rank" in values:
            _list(section, int(values["ras_rank"]), values, item)
        if "ras_missing" in values:
            section.missing |= dict.fromkeys(numbers(values["ras_missing"]), item)
        if "ras_host" in values and "ras_gpus" in values:
            section.processes.append((values["ras_host"], values["ras_gpus"], item))
    return sections, total


def _list(section: _Section, rank: int, values: Mapping[str, str], item: Seen) -> None:
    """Take a rank that a section lists: with its own operation, under one that was stated above, or as missing."""
    if section.kind != "MISMATCH":
        section.missing[rank] = item
    elif "ras_own" in values or "ras_none" in values:
        at = int(values.get("ras_own", "0"))
        section.counts[at] = section.counts.get(at, 0) + 1
        section.listed[rank] = (at, item)
    elif section.at is not None:
        section.listed[rank] = (section.at, item)


def _missing(section: _Section, ranks: Ranks, total: int | None) -> Relation | None:
    if section.kind not in ("INCOMPLETE", "DEAD"):
        return None
    gone = dict(section.missing)
    hosts = {name for name, _, _ in section.processes}
    for name, gpus, item in section.processes:
        for gpu in numbers(gpus):
            rank = ranks.of_local(gpu, name) if name in ranks.bases else None
            if rank is not None:
                gone.setdefault(rank, item)
    lines = tuple(dict.fromkeys(item.line.number for item in gone.values()))
    if not gone and not hosts:
        return None
    if gone and len(gone) > max(_SHARE * (total or 4 * len(gone)), 1):
        return None
    found = sorted(gone)
    what = rank_list(found) if found else f"a process on {', '.join(sorted(hosts))}"
    text = f"NCCL's RAS cannot reach {what}"
    shown = (*gone.values(), *(item for _, _, item in section.processes))[: max(len(lines), 1)]
    host = next(iter(hosts)) if len(hosts) == 1 else None
    return Relation("missing-reporter", text, tuple(found), shown, host=host, culprit=True)


def _lagging(section: _Section, total: int | None, *, failing: bool) -> Relation | None:
    if section.kind != "MISMATCH" or len(section.counts) < 2:
        return None
    size = sum(section.counts.values())
    lowest, highest = min(section.counts), max(section.counts)
    late = {rank: item for rank, (at, item) in section.listed.items() if at == lowest}
    if (total is not None and size != total) or len(late) != section.counts[lowest]:
        return None
    if len(late) > max(_SHARE * size, 1) or (highest - lowest < _SETTLED and not failing):
        return None
    text = f"NCCL's RAS: {rank_list(sorted(late))} launched up to operation {lowest}, others up to {highest}"
    return Relation("rank-lags", text, tuple(sorted(late)), tuple(late.values())[:3], culprit=True)
