"""What lines say of who is who: ranks beside pids, devices, hosts."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from denpex_kb.derive.exits import Exit
from denpex_kb.derive.places import Pairs, place_of
from denpex_kb.model.events import Line, Seen

_NODE_OF_LAUNCH = re.compile(r"'([^']{1,120})': \[([\d, ]{0,400})\]")


def pci(text: str) -> str | None:
    """Write a PCI address, as the kernel or NCCL prints it, as domain:bus:device."""
    parts = text.lower().split(":")
    try:
        if len(parts) == 1:
            number = int(parts[0], 16)  # NCCL: domain, bus, device and function in one number
            return f"{number >> 20:x}:{(number >> 12) & 0xFF:x}:{(number >> 4) & 0xFF:x}"
        domain = int(parts[-3], 16) if len(parts) > 2 else 0
        return f"{domain:x}:{int(parts[-2], 16):x}:{int(parts[-1].split('.')[0], 16):x}"
    except ValueError:
        return None


def bus_numbers(bus: str) -> tuple[int, ...]:
    """Return domain, bus and device as numbers, which order the devices of a host."""
    return tuple(int(part, 16) for part in bus.split(":"))


class Evidence:
    """What lines say of who is who."""

    def __init__(self) -> None:
        self.pairs: Pairs = defaultdict(Counter)
        self.weak: Pairs = defaultdict(Counter)
        self.grouped: Pairs = defaultdict(Counter)  # by ranks in a process group, which may be a smaller one
        self.locals_of: dict[str, set[int]] = defaultdict(set)  # place → the local ranks that are seen there
        self.pids: dict[tuple[str | None, int], int] = {}
        self.local_pids: dict[tuple[str | None, int], int] = {}
        self.devices: dict[str, Counter[int]] = defaultdict(Counter)
        self.locals: set[int] = set()
        self.hosts: dict[int, str] = {}
        self.nodes: dict[str, int] = {}
        self.worlds: set[int] = set()
        self.sizes: set[int] = set()  # processes of a node, as launchers state them
        self.named_actors = False  # actors are told apart by their ranks
        self.by_device: dict[tuple[str | None, int], set[int]] = defaultdict(set)  # place, device → pids

    def line(self, line: Line) -> None:
        """Take what the prefixes of a line state together."""
        place = place_of(line)
        if line.local_rank is not None:
            self._local(line, line.local_rank, place)
        if line.node is not None and place is not None:
            self.nodes.setdefault(place, line.node)
        if line.device is not None and line.pid is not None:
            self.by_device[place, line.device].add(line.pid)
        if line.rank is None:
            if line.pid is not None and line.local_rank is not None:
                self.local_pids.setdefault((place, line.pid), line.local_rank)
            return
        if place is not None:
            self.hosts.setdefault(line.rank, place)
            if line.local_rank is not None:
                self.pairs[place][line.rank - line.local_rank] += 1
            elif line.device is not None:
                self.weak[place][line.rank - line.device] += 1
        if line.pid is not None and (
            line.device is not None or line.ip is not None or line.role is not None
        ):  # an NCCL or a Ray prefix; other pids may be those of launchers
            self.pids.setdefault((place, line.pid), line.rank)

    def _local(self, line: Line, local: int, place: str | None) -> None:
        self.locals.add(local)
        if place is not None:
            self.locals_of[place].add(local)
            if line.group_rank is not None:
                self.grouped[place][line.group_rank - local] += 1

    def marks(self, seen: Seen, values: Mapping[str, str]) -> None:
        """Take what marks state."""
        place = place_of(seen.line)
        if "nranks" in values:
            self._communicator(seen.line, values)
        if place is not None:
            self._of_place(place, seen.line, values)
        self.named_actors = self.named_actors or "actor_local" in values
        if "local_size" in values:
            self.sizes.add(int(values["local_size"]))
        if "world_info" in values:
            self._launch(values["world_info"])
        if "rank_mapping" in values:
            self._mapping(values["rank_mapping"])
        if values.get("pid", "").isdigit():
            self._of_pid(values.get("worker_ip", place), int(values["pid"]), values)

    def _communicator(self, line: Line, values: Mapping[str, str]) -> None:
        """Take what NCCL says of a process at the start of a communicator; the largest is that of the job."""
        place = place_of(line)
        rank, device, world = int(values["comm_rank"]), int(values["device"]), int(values["nranks"])
        self.worlds.add(world)
        if (bus := pci(values.get("busid", ""))) is not None:
            self.devices[bus][device] += 1
        if world == max(self.worlds) and (line.rank is None or line.rank == rank):
            if line.pid is not None:
                self.pids[place, line.pid] = rank
            if place is not None:
                self.hosts.setdefault(rank, place)
                self.weak[place][rank - device] += 2
            if line.rank is None:
                line.rank = rank

    def _of_place(self, place: str, line: Line, values: Mapping[str, str]) -> None:
        if "first_rank" in values:
            self.pairs[place][int(values["first_rank"])] += 1
            if "more_ranks" in values or line.text.rstrip().endswith("]"):
                self.sizes.add(values.get("more_ranks", "").count(",") + 1)
        if values.get("node", "").isdigit():
            self.nodes.setdefault(place, int(values["node"]))

    def _of_pid(self, place: str | None, pid: int, values: Mapping[str, str]) -> None:
        if "stated_rank" in values:
            rank = int(values["stated_rank"])
            self.pids.setdefault((place, pid), rank)
            if "stated_local" in values and place is not None:
                self.hosts.setdefault(rank, place)
                self.pairs[place][rank - int(values["stated_local"])] += 3
        if "spawned_local" in values:
            self.local_pids[place, pid] = int(values["spawned_local"])

    def _launch(self, text: str) -> None:
        """Take DeepSpeed's list of hosts and their devices: the ranks are numbered in its order."""
        first, whole = 0, text.endswith("}")
        for number, (host, devices) in enumerate(_NODE_OF_LAUNCH.findall(text)):
            size = devices.count(",") + 1 if devices.strip() else 0
            self.nodes.setdefault(host, number)
            self.pairs[host][first] += 1
            self.sizes.add(size)
            first += size
        if whole and first:
            self.worlds.add(first)

    def _mapping(self, text: str) -> None:
        """Take DeepSpeed's list of hosts and their global ranks."""
        for host, ranks in _NODE_OF_LAUNCH.findall(text):
            first = ranks.split(",")[0].strip()
            if first.isdigit():
                self.pairs[host][int(first)] += 1
                self.sizes.add(ranks.count(",") + 1)

    def exits(self, exits: Iterable[Exit]) -> None:
        """Take what launchers state of the processes that ended."""
        for item in exits:
            if item.local_rank is not None:
                self.locals.add(item.local_rank)
            if item.rank is None:
                if item.pid is not None and item.local_rank is not None:
                    self.local_pids.setdefault((item.host, item.pid), item.local_rank)
                continue
            if item.host is not None:
                self.hosts.setdefault(item.rank, item.host)
                if item.local_rank is not None:
                    self.pairs[item.host][item.rank - item.local_rank] += 3
            if item.pid is not None and item.local_rank is not None:
                self.pids.setdefault((item.host, item.pid), item.rank)
