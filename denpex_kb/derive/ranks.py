"""Whose line is it, once all of the input was seen: local ranks, tasks, pids and devices become global ranks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import gcd

from msgspec import Struct, structs

from denpex_kb.derive.blocks import mark_values, marks_of
from denpex_kb.derive.evidence import Evidence, bus_numbers, pci
from denpex_kb.derive.exits import read_exits
from denpex_kb.derive.places import Pairs, first_ranks, in_a_row, name_hosts, place_of
from denpex_kb.model.events import Line, Reading
from denpex_kb.model.facts import FactSet
from denpex_kb.model.rules import RuleSet

_MOST_PER_NODE = 64
_MACHINE = frozenset({"hardware", "kernel"})


class Ranks(Struct, frozen=True):
    """The ranks of the job, as far as the input shows them, and what else names them."""

    known: tuple[int, ...]
    world_size: int | None
    hosts: dict[int, str]
    basis: str = ""  # what the world size rests on
    per_node: int | None = None
    bases: dict[str, int] = {}  # host → its first rank
    pids: dict[tuple[str | None, int], int] = {}
    devices: dict[str, int] = {}  # PCI bus → device index
    task_is_rank: bool = False
    several: bool = False  # the job has more than one rank
    apart: bool = False  # several hosts have local ranks, so that none of them is the global one by itself
    addresses: dict[str, str] = {}  # IP address → the host or pod that has it

    def of_pid(self, pid: int, host: str | None) -> int | None:
        """Return the rank of a process."""
        if (host, pid) in self.pids:
            return self.pids[host, pid]
        if host is not None:
            inferred = self._neighbour(pid, host)
            if inferred is not None:
                return inferred
        found = {rank for (_, other), rank in self.pids.items() if other == pid}
        if len(found) == 1:
            return found.pop()
        return None if found or host is not None else self._neighbour(pid, None)

    def of_local(self, local: int, host: str | None) -> int | None:
        """Return the rank of a local rank or a device of a host."""
        if self.per_node is not None and local >= self.per_node:
            return None
        if host is not None and host in self.bases:
            return self.bases[host] + local
        if self.world_size is not None and self.per_node is not None and self.world_size <= self.per_node:
            return local
        if len(self.bases) == 1 and self.world_size is None:
            return next(iter(self.bases.values())) + local  # all that is seen comes from one node
        if self.bases or self.world_size is not None or self.apart or len(set(self.hosts.values())) > 1:
            return None
        return local

    def of_actor(self, node: int, local: int) -> int | None:
        """Return the rank of an actor that is named by the number of its node and its local rank."""
        if not node:
            return local
        return node * self.per_node + local if self.per_node is not None and local < self.per_node else None

    def of_bus(self, bus: str, host: str | None) -> int | None:
        """Return the rank that uses the device on a PCI bus of a host."""
        device = self._device(pci(bus) or "")
        return self.of_local(device, host) if device is not None else None

    def _device(self, bus: str) -> int | None:
        """Return the index of a device: stated, or the only one that the order of the buses leaves for it."""
        if bus in self.devices or not bus or not self.devices:
            return self.devices.get(bus)
        size = self.per_node or 0
        free = sorted(set(range(size)) - set(self.devices.values()))
        place = bus_numbers(bus)
        known = sorted((bus_numbers(other), device) for other, device in self.devices.items())
        if [device for _, device in known] == sorted(device for _, device in known):
            below = max((device for other, device in known if other < place), default=-1)
            above = min((device for other, device in known if other > place), default=size)
            free = [device for device in free if below < device < above]
        return free[0] if len(free) == 1 else None

    def on(self, host: str | None) -> tuple[int, ...]:
        """Return the ranks of a host, which may be named by its address."""
        if host is None:
            return ()
        if host not in self.bases:
            host = self.addresses.get(host, host)
        if host in self.bases and self.per_node is not None:
            first = self.bases[host]
            last = first + self.per_node if self.world_size is None else min(first + self.per_node, self.world_size)
            return tuple(range(first, last))
        return tuple(sorted(rank for rank, name in self.hosts.items() if name == host))

    def host_of(self, rank: int) -> str | None:
        """Return the host of a rank."""
        if rank in self.hosts:
            return self.hosts[rank]
        if self.per_node is not None:
            first = rank - rank % self.per_node
            return next((host for host, base in self.bases.items() if base == first), None)
        return None

    def local_of(self, rank: int) -> int | None:
        """Return the local rank of a rank."""
        return rank % self.per_node if self.per_node else None

    def _neighbour(self, pid: int, host: str | None) -> int | None:
        """Return the rank by the distance to known pids: processes that are started in a row have pids in a row."""
        places = {place for place, _ in self.pids}
        if host is None and len(places) == 1:
            host = next(iter(places))
        own = [(other, rank) for (place, other), rank in self.pids.items() if place == host and other != pid]
        offsets = {other - rank for other, rank in own}
        if len(offsets) != 1:
            return None
        rank = pid - offsets.pop()
        if self.per_node is None:
            return rank if rank >= 0 and len(own) > 1 and min(abs(pid - other) for other, _ in own) <= 2 else None
        first = own[0][1] - own[0][1] % self.per_node
        return rank if first <= rank < first + self.per_node else None


def assign_ranks(readings: Sequence[Reading], rules: RuleSet, facts: FactSet) -> Ranks:
    """Give every line the global rank that can be concluded for it.

    `[rankN]:` is trusted over every other number. A local rank is global where all lines come from one node; on
    several nodes it is node x local, where the node's number is known. A Slurm label is the rank where every task is
    one.
    """
    _forget_numbers_of_hosts(readings, rules)
    lines = [line for reading in readings for line in _all_lines(reading)]
    task_is_rank = _task_is_rank(lines, agents=_has_agents(readings, rules))
    addresses = name_hosts(readings, rules, task_is_node=not task_is_rank)
    _only_rank_of_file(readings, rules)
    evidence = _gather(readings, lines, rules, facts, task_is_rank=task_is_rank)
    ranks = _conclude(readings, lines, evidence, facts, task_is_rank=task_is_rank)
    _fill_in(lines, ranks)
    known = set(ranks.known)
    hosts = dict(ranks.hosts)
    for line in lines:
        if line.rank is not None:
            known.add(line.rank)
            if (place := place_of(line)) is not None:
                hosts.setdefault(line.rank, place)
    several = ranks.several or len(known) > 1 or max(known, default=0) > 0 or _stops_others(readings, rules)
    return structs.replace(ranks, known=tuple(sorted(known)), hosts=hosts, several=several, addresses=addresses)


def _forget_numbers_of_hosts(readings: Iterable[Reading], rules: RuleSet) -> None:
    """Records of a machine are of no rank: a number in the file's name is the host's."""
    for reading in readings:
        for seen in reading.seen:
            if _MACHINE & marks_of(seen, rules):
                seen.line.rank = seen.line.local_rank = None


def _only_rank_of_file(readings: Iterable[Reading], rules: RuleSet) -> None:
    """Lines of a file whose agent says that it has one process, with its rank, are of that rank."""
    for reading in readings:
        stated = {
            values["first_rank"] if "more_ranks" not in values else ""
            for seen in reading.seen
            if "first_rank" in (values := mark_values(seen, rules)) and seen.line.text.rstrip().endswith("]")
        }
        if len(stated) != 1 or not (only := stated.pop()) or reading.ranks - {int(only)}:
            continue
        for line in _all_lines(reading):
            if line.rank is None:
                line.rank = int(only)
        if reading.last is not None:
            reading.lasts.setdefault(("rank", int(only)), reading.last)


def _gather(
    readings: Sequence[Reading], lines: Iterable[Line], rules: RuleSet, facts: FactSet, *, task_is_rank: bool
) -> Evidence:
    """Collect what all lines state of who is who."""
    evidence = Evidence()
    for line in lines:
        evidence.line(line)
        if line.task is not None and not task_is_rank and (place := place_of(line)) is not None:
            evidence.nodes.setdefault(place, line.task)
    evidence.worlds |= {value for value in facts.values("world_size") if isinstance(value, int)}
    for reading in readings:
        for seen in reading.seen:
            values = mark_values(seen, rules)
            if values:
                evidence.marks(seen, values)
    evidence.exits(item for reading in readings for item in read_exits(reading, rules))
    return evidence


def _fill_in(lines: Iterable[Line], ranks: Ranks) -> None:
    """Give each line its rank; processes whose rank cannot be told are looked up once."""
    told: dict[tuple[str | None, int | None, int | None, int | None, int | None, bool], int | None] = {}
    for line in lines:
        if line.rank is None:
            key = (place_of(line), line.pid, line.local_rank, line.task, line.group_rank, line.device is None)
            if key not in told:
                told[key] = _rank_of(line, ranks)
            line.rank = told[key]


def _conclude(
    readings: Sequence[Reading], lines: Sequence[Line], evidence: Evidence, facts: FactSet, *, task_is_rank: bool
) -> Ranks:
    known = {line.rank for line in lines if line.rank is not None} | set(evidence.hosts)
    known |= {rank for reading in readings for rank in reading.ranks}
    world = max((size for size in evidence.worlds if size > max(known, default=0)), default=None)
    basis = f"world size {world}" if world is not None else ""
    pairs = evidence.pairs or _consistent(evidence.weak) or _distinct(evidence.grouped)
    places = dict.fromkeys((*map(place_of, lines), *evidence.hosts.values()))
    hosts = [place for place in places if place is not None]
    per_node = _per_node(facts, evidence, pairs, world)
    merged: Pairs = defaultdict(Counter)
    for source in (evidence.pairs, _consistent(evidence.weak), _distinct(evidence.grouped)):
        for host, counter in source.items():
            if host not in merged:
                merged[host] = counter
    with_ranks = [host for host in hosts if host in merged or host in evidence.nodes] or hosts
    bases = first_ranks(merged, hosts if len(hosts) > len(with_ranks) else with_ranks, per_node, evidence.nodes, world)
    if not bases and world is None:
        bases = in_a_row(evidence.locals_of)
    if per_node is not None and bases:
        bases |= _by_block(evidence.hosts, bases, per_node)
    pids = dict(evidence.pids)
    for (place, pid), local in evidence.local_pids.items():
        if place is not None and place in bases:
            pids.setdefault((place, pid), bases[place] + local)
        elif place is None and len(hosts) <= 1:
            pids.setdefault((place, pid), (next(iter(bases.values())) if len(bases) == 1 else 0) + local)
    for key, device in _devices_of_one_host(evidence, known, world).items():
        pids.setdefault(key, device)
    devices = {bus: counter.most_common(1)[0][0] for bus, counter in evidence.devices.items()}
    several = len(evidence.locals) > 1 or max(evidence.locals, default=0) > 0 or (world or 1) > 1
    several = several or evidence.named_actors or max(bases.values(), default=0) > 0
    return Ranks(
        tuple(sorted(known)),
        world,
        evidence.hosts,
        basis,
        per_node,
        bases,
        pids,
        devices,
        task_is_rank,
        several,
        len(evidence.locals_of) > 1,
    )


def _devices_of_one_host(evidence: Evidence, known: set[int], world: int | None) -> dict[tuple[str | None, int], int]:
    """Return the ranks of the processes of the only host that is seen, where each has a device of its own.

    A process that sees one device only calls it 0, so that several with one number tell nothing.
    """
    places = {place for place, _ in evidence.by_device}
    numbers = sorted(device for _, device in evidence.by_device)
    if len(places) != 1 or len(numbers) < 2 or numbers != list(range(len(numbers))):
        return {}
    if not known or max(known) >= len(numbers) or (world is not None and world != len(numbers)):
        return {}
    if any(len(pids) != 1 for pids in evidence.by_device.values()):
        return {}
    return {(place, next(iter(pids))): device for (place, device), pids in evidence.by_device.items()}


def _consistent(pairs: Pairs) -> Pairs:
    """Device indices are local ranks only where they lead to one first rank per host."""
    return pairs if all(len(counter) == 1 for counter in pairs.values()) else {}


def _distinct(pairs: Pairs) -> Pairs:
    """Ranks of a group are global ones only where every host has a first rank of its own."""
    held = _consistent(pairs)
    firsts = [next(iter(counter)) for counter in held.values()]
    return held if len(set(firsts)) == len(firsts) and min(firsts, default=-1) >= 0 else {}


def _rank_of(line: Line, ranks: Ranks) -> int | None:
    place = place_of(line)
    if line.pid is not None and (line.device is not None or line.ip is not None or line.role is not None):
        rank = ranks.of_pid(line.pid, place)
        if rank is not None:
            return rank
    if line.local_rank is not None:
        rank = ranks.of_local(line.local_rank, place)
        return rank if rank is not None else line.group_rank
    if line.task is not None:
        return line.task if ranks.task_is_rank else None
    if line.pid is not None:
        found = ranks.pids.get((place, line.pid))
        if found is not None:
            return found
    return line.group_rank


def _all_lines(reading: Reading) -> list[Line]:
    lines = [seen.line for seen in (*reading.seen, *reading.progress)]
    return [*lines, *reading.lasts.values(), *([reading.last] if reading.last is not None else [])]


def _per_node(facts: FactSet, evidence: Evidence, pairs: Pairs, world: int | None) -> int | None:
    least = max(max(evidence.locals, default=-1) + 1, _widest(evidence.hosts))
    if len(evidence.sizes) == 1 and least <= (size := next(iter(evidence.sizes))):
        return size
    nodes = facts.value("nodes")
    if world is not None and isinstance(nodes, int) and nodes > 0 and world % nodes == 0:
        return world // nodes
    bases = sorted({counter.most_common(1)[0][0] for counter in pairs.values()})
    step = gcd(*bases, world or 0)
    if len(bases) > 1 and least <= step <= _MOST_PER_NODE:
        return step
    devices = max((max(counter) for counter in evidence.devices.values()), default=-1) + 1
    least = max(least, devices)
    if world is None or least == world:
        return least or None
    hosts = len(set(evidence.hosts.values()))
    if (
        hosts
        and world % hosts == 0
        and least <= world // hosts <= _MOST_PER_NODE
        and (hosts > 1 or len(evidence.nodes) < 2)
    ):
        per_host = world // hosts
        if all(base % per_host == 0 for base in bases):
            return per_host
    return next((size for size in (1, 2, 4, 8, 16) if size >= least and world % size == 0), least) if least else None


def _by_block(hosts: Mapping[int, str], bases: Mapping[str, int], per_node: int) -> dict[str, int]:
    """Return the first ranks of hosts, or of other names of them, by the ranks that are seen there."""
    blocks: dict[str, set[int]] = defaultdict(set)
    for rank, host in hosts.items():
        blocks[host].add(rank - rank % per_node)
    if any(base % per_node for base in bases.values()):
        return {}
    return {host: next(iter(held)) for host, held in blocks.items() if host not in bases and len(held) == 1}


def _widest(hosts: Mapping[int, str]) -> int:
    """Return from how many ranks on end, at most, lines of one host come, where every host has its own."""
    held: dict[str, list[int]] = defaultdict(list)
    for rank, host in hosts.items():
        held[host].append(rank)
    spans = sorted((min(ranks), max(ranks)) for ranks in held.values())
    if len(spans) < 2 or any(last >= first for (_, last), (first, _) in pairwise(spans)):
        return 0
    return max(last - first + 1 for first, last in spans)


def _stops_others(readings: Iterable[Reading], rules: RuleSet) -> bool:
    """Whether a launcher ends processes besides the one that failed; DeepSpeed's lists that one too."""
    stopped = {
        (match.groups[:1], rules.patterns[match.pattern].owner)
        for reading in readings
        for seen in reading.seen
        for match in seen.matches
        if rules.patterns[match.pattern].target == "mark" and rules.patterns[match.pattern].name == "teardown"
    }
    return any(owner != "deepspeed-killing" for _, owner in stopped) or len(stopped) > 1


def _has_agents(readings: Iterable[Reading], rules: RuleSet) -> bool:
    """Whether a launcher of a node's processes is at work: then a task of the scheduler is a node."""
    return any(
        rules.patterns[match.pattern].owner.startswith("torchrun-") and rules.patterns[match.pattern].target == "mark"
        for reading in readings
        for seen in reading.seen
        for match in seen.matches
    )


def _task_is_rank(lines: Iterable[Line], *, agents: bool) -> bool:
    """A Slurm label counts nodes where one launcher runs per node, and ranks where every task is one."""
    pairs = [(line.task, line.rank, line.local_rank) for line in lines if line.task is not None]
    ranked = [(task, rank) for task, rank, _ in pairs if rank is not None]
    if ranked:
        return all(task == rank for task, rank in ranked)
    if not pairs and agents:
        return False
    return all(local is None or local == task for task, _, local in pairs)
