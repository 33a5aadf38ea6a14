"""Whose line is it, once all of the input was seen: local ranks, tasks and pids become global ranks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from msgspec import Struct

from denpex_kb.model.events import Line, Reading, Seen
from denpex_kb.model.facts import FactSet
from denpex_kb.model.rules import RuleSet


class Ranks(Struct, frozen=True):
    """The ranks of the job, as far as the input shows them."""

    known: tuple[int, ...]
    world_size: int | None
    hosts: dict[int, str]


def assign_ranks(readings: Sequence[Reading], rules: RuleSet, facts: FactSet) -> Ranks:
    """Give every line the global rank that can be concluded for it.

    `[rankN]:` is trusted over every other number. A local rank is global where all lines come from one node; on several
    nodes it is node x local, where the node's own number is known. A Slurm label is the rank where every task is a rank.
    """
    lines = [seen.line for reading in readings for seen in (*reading.seen, *reading.progress)]
    lines += [reading.last for reading in readings if reading.last is not None]
    by_pid = _pids(readings, rules, lines)
    hosts_of_locals = {line.host for line in lines if line.local_rank is not None}
    one_node = len(hosts_of_locals) <= 1
    node_numbers = _node_numbers(lines)
    per_node = _per_node(lines, facts)
    task_is_rank = _task_is_rank(lines)
    for line in lines:
        if line.rank is not None:
            continue
        if line.pid is not None and line.pid in by_pid:
            line.rank = by_pid[line.pid]
        elif line.local_rank is not None:
            if one_node:
                line.rank = line.local_rank
            elif line.host in node_numbers and per_node:
                line.rank = node_numbers[line.host] * per_node + line.local_rank
        elif line.task is not None and task_is_rank:
            line.rank = line.task
    known = sorted(
        {line.rank for line in lines if line.rank is not None}
        | {rank for reading in readings for rank in reading.ranks}
    )
    hosts = {line.rank: line.host for line in lines if line.rank is not None and line.host is not None}
    return Ranks(tuple(known), _world_size(facts, known), hosts)


def _pids(readings: Iterable[Reading], rules: RuleSet, lines: Iterable[Line]) -> dict[int, int]:
    """Map pids to ranks by the lines that state both."""
    found: dict[int, int] = {line.pid: line.rank for line in lines if line.pid is not None and line.rank is not None}
    for seen in (seen for reading in readings for seen in reading.seen):
        stated = mark_values(seen, rules)
        if "pid" in stated and stated["pid"].isdigit():
            number = stated.get("rank") or stated.get("local_rank")
            if number is not None and number.isdigit():
                found.setdefault(int(stated["pid"]), int(number))
    return found


def mark_values(seen: Seen, rules: RuleSet) -> dict[str, str]:
    """Return what the marks of a line state, by name."""
    values: dict[str, str] = {}
    for match in seen.matches:
        pattern = rules.patterns[match.pattern]
        if pattern.target == "mark":
            for name, group in zip(pattern.gives, match.groups, strict=False):
                if group:
                    values.setdefault(name, group)
    return values


def _node_numbers(lines: Iterable[Line]) -> dict[str | None, int]:
    """Conclude each host's node number from lines that carry both a global and a local rank."""
    offsets: dict[str, Counter[int]] = defaultdict(Counter)
    hosts: list[str] = []
    for line in lines:
        if line.host is not None and line.host not in hosts:
            hosts.append(line.host)
        if line.host is not None and line.rank is not None and line.local_rank is not None:
            offsets[line.host][line.rank - line.local_rank] += 1
    bases = sorted({counter.most_common(1)[0][0] for counter in offsets.values()})
    if bases:
        return {host: bases.index(counter.most_common(1)[0][0]) for host, counter in offsets.items()}
    return {}


def _per_node(lines: Iterable[Line], facts: FactSet) -> int | None:
    world, nodes = facts.value("world_size"), facts.value("nodes")
    if isinstance(world, int) and isinstance(nodes, int) and nodes > 0 and world % nodes == 0:
        return world // nodes
    locals_ = {line.local_rank for line in lines if line.local_rank is not None}
    return max(locals_) + 1 if locals_ else None


def _task_is_rank(lines: Iterable[Line]) -> bool:
    """A Slurm label counts nodes where one launcher runs per node, and ranks where every task is one."""
    both = [
        (line.task, line.rank if line.rank is not None else line.local_rank) for line in lines if line.task is not None
    ]
    with_rank = [(task, rank) for task, rank in both if rank is not None]
    return all(task == rank for task, rank in with_rank) if with_rank else True


def _world_size(facts: FactSet, known: Sequence[int]) -> int | None:
    stated = [value for value in facts.values("world_size") if isinstance(value, int)]
    if stated:
        return max(stated)
    return None
