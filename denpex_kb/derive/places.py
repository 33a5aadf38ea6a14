"""Which host a line comes from, and the number of every host's first rank."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from denpex_kb.derive.blocks import mark_values
from denpex_kb.model.events import Line, Reading
from denpex_kb.model.rules import RuleSet

_MASTER = re.compile(r"(?:^|[-_.])(?:master|head|launcher|chief)(?:[-_.]?(\d+))?(?:$|[-_.])")
_WORKER = re.compile(r"(?:^|[-_.])(?:worker|node)[-_.]?(\d+)(?:$|[-_.])")
_LAST_NUMBER = re.compile(r"(\d+)(?!.*\d)")
Pairs = dict[str, Counter[int]]  # place → first rank of that place, how often it was concluded


def place_of(line: Line) -> str | None:
    """Return the name by which a line's node is known."""
    if line.host is not None:
        return line.host
    if line.ip is not None:
        return line.ip
    return None


def name_hosts(readings: Sequence[Reading], rules: RuleSet, *, task_is_node: bool) -> dict[str, str]:
    """Fill in the hosts of lines that state none, by headings, file names and what else the same output states.

    Returns:
        IP address → the host or pod that states it as its own.
    """
    addresses: dict[str, str] = {}
    known = _hosts(readings, rules)
    by_task = _aliases((line.task, line.host) for line in _lines(readings)) if task_is_node else {}
    by_ip = _aliases((line.ip, line.host) for line in _lines(readings))
    for reading in readings:
        named = reading.origin.host or _in_name(reading.origin.name, known)
        own = {seen.line.host for seen in reading.seen if seen.line.host is not None}
        only = next(iter(own)) if len(own) == 1 and reading.origin.rank is not None else None
        if task_is_node:
            _name_nodes(reading, by_task)
        section: str | None = None
        for seen in reading.all_seen():
            values = mark_values(seen, rules)
            heading = values.get("section")
            section = heading or section
            line = seen.line
            if "host_ip" in values:
                owner = values.get("pod_name") or section or line.host or named
                addresses |= {values["host_ip"]: owner} if owner and values["host_ip"] not in addresses else {}
            own_process = line.rank is not None or line.local_rank is not None
            if section is not None and not own_process and line.host == reading.origin.host:
                line.host = section  # what the text says of the lines below it is nearer than the file's name
            if line.host is None:
                line.host = (
                    (None if own_process else section) or by_task.get(line.task) or by_ip.get(line.ip) or named or only
                )
            elif heading:
                line.host = heading
        for line in (*reading.lasts.values(), *([reading.last] if reading.last is not None else [])):
            line.host = line.host or by_task.get(line.task) or by_ip.get(line.ip) or named or only
    return addresses


def _name_nodes(reading: Reading, by_task: Mapping[object, str]) -> None:
    """Give lines of a launcher that starts one task per node the node of their task."""
    for line in (*(seen.line for seen in reading.all_seen()), *reading.lasts.values()):
        if line.host is None and line.task is not None:
            line.host = by_task.get(line.task) or f"node {line.task}"


def _lines(readings: Iterable[Reading]) -> Iterable[Line]:
    for reading in readings:
        for seen in reading.seen:
            yield seen.line


def _hosts(readings: Iterable[Reading], rules: RuleSet) -> set[str]:
    found: set[str] = set()
    for reading in readings:
        for seen in reading.seen:
            if seen.line.host is not None:
                found.add(seen.line.host)
            values = mark_values(seen, rules)
            found.update(host for host in (values.get("host"), values.get("section"), values.get("pod_name")) if host)
    return found


def _in_name(name: str, hosts: Iterable[str]) -> str | None:
    parts = set(re.split(r"[/_,:=]|\.(?:txt|log|out|err)\b", name))
    return next((host for host in sorted(hosts, key=lambda host: (-len(host), host)) if host in parts), None)


def _aliases(pairs: Iterable[tuple[object, str | None]]) -> dict[object, str]:
    counts: dict[object, Counter[str]] = defaultdict(Counter)
    for name, host in pairs:
        if name is not None and host is not None:
            counts[name][host] += 1
    return {name: counter.most_common(1)[0][0] for name, counter in counts.items()}


def first_ranks(
    pairs: Pairs, hosts: Sequence[str], per_node: int | None, nodes: Mapping[str, int], world: int | None
) -> dict[str, int]:
    """Return the first rank of every host.

    Args:
        pairs: what lines with both a global and a local rank say.
        hosts: all hosts.
        per_node: ranks of a node.
        nodes: the numbers of nodes that launchers state.
        world: the number of all ranks.
    """
    bases = {host: counter.most_common(1)[0][0] for host, counter in pairs.items() if counter.most_common(1)[0][0] >= 0}
    if per_node is None:
        return bases
    bases = {host: base for host, base in bases.items() if base % per_node == 0}
    for host, number in nodes.items():
        bases.setdefault(host, number * per_node)
    for guess in (_by_role(hosts), _by_order(hosts, per_node, world), _by_number(hosts, bases, per_node)):
        if guess and all(guess[host] * per_node == base for host, base in bases.items() if host in guess):
            for host, number in guess.items():
                if world is None or number * per_node < world:
                    bases.setdefault(host, number * per_node)
    return bases


def in_a_row(locals_of: Mapping[str, set[int]]) -> dict[str, int]:
    """Return the first ranks of hosts that are numbered in a row and have the same local ranks, from 0 on end.

    Launchers number nodes in the order of their names, where the world is not stated.
    """
    sizes = {len(held) for held in locals_of.values() if held == set(range(len(held)))}
    names = sorted(locals_of, key=_natural)
    found = [_LAST_NUMBER.search(name) for name in names]
    gaps = any(max(held) >= len(held) for held in locals_of.values())
    if len(sizes) != 1 or len(names) < 2 or not all(found) or gaps:
        return {}
    shapes = {_shape(name, match) for name, match in zip(names, found, strict=True) if match}
    numbers = [int(match.group(1)) for match in found if match]
    if len(shapes) != 1 or numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        return {}
    size = sizes.pop()
    return {name: number * size for number, name in enumerate(names)}


def _by_role(hosts: Iterable[str]) -> dict[str, int]:
    """Replicas of a training operator: the master is node 0, worker 0 the next one."""
    found: dict[str, int] = {}
    masters = [host for host in hosts if _MASTER.search(host)]
    for host in hosts:
        worker = _WORKER.search(host)
        if host in masters:
            found[host] = 0
        elif worker is not None and masters:
            found[host] = int(worker.group(1)) + 1
    return found


def _by_order(hosts: Sequence[str], per_node: int, world: int | None) -> dict[str, int]:
    """Where every node was seen, they are numbered in the order of their names."""
    if world is None or len(hosts) * per_node != world:
        return {}
    return {host: number for number, host in enumerate(sorted(hosts, key=_natural))}


def _by_number(hosts: Iterable[str], bases: Mapping[str, int], per_node: int) -> dict[str, int]:
    """Hosts that are numbered on end: one known base tells the others."""
    shapes: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for host in hosts:
        number = _LAST_NUMBER.search(host)
        if number is not None:
            shapes[_shape(host, number)].append((int(number.group(1)), host))
    found: dict[str, int] = {}
    for members in shapes.values():
        offsets = {number - bases[host] // per_node for number, host in members if host in bases}
        if len(offsets) == 1:
            offset = offsets.pop()
            found |= {host: number - offset for number, host in members if number >= offset}
    return found


def _shape(name: str, number: re.Match[str]) -> str:
    return name[: number.start()] + "#" + name[number.end() :]


def _natural(text: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", text)]
