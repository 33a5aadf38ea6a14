"""A job that runs and fails: who stands where, whose clock says what, which lines are printed when."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct

from tests.scale.lines import NCCL, number, printed

Kind = Literal["rank", "agent", "kernel", "driver", "nccl"]
Stream = Literal["stdout", "stderr"]
BUSES = ("0f", "1b", "43", "52", "9d", "c3", "d1", "df")
VENV = "/opt/venv"
SITE = f"{VENV}/lib/python3.11/site-packages"
HOME = "/home/user/runs"


class Setup(Struct, frozen=True, kw_only=True):
    """What a job is made from; the same set-up gives the same bytes."""

    scenario: str
    form: str
    ranks: int
    torch: str
    seed: int
    per_node: int = 8
    timeout: int = 600  # of the process group, seconds

    @property
    def name(self) -> str:
        """Name the job, as a file may be called."""
        form = self.form.replace("/", "-")
        return f"{self.scenario}-{form}-{self.ranks}-torch{self.torch}-{self.seed}"


class Event(Struct, frozen=True):
    """One line: when, whose, what."""

    time: float  # true time, seconds since the job began
    kind: Kind
    index: int  # of a rank, of a node, or 0
    text: str
    attempt: int
    stream: Stream = "stderr"


class Job:
    """A job of ranks on nodes. Scenarios put lines into it; layouts write them down.

    Stamps inside a line are those of the clock of its node, which may be wrong; the order of lines follows true time.
    """

    def __init__(self, setup: Setup, launcher: str) -> None:
        self.setup, self.launcher = setup, launcher
        self.rng = random.Random(f"{setup.scenario} {setup.form} {setup.ranks} {setup.torch} {setup.seed}")
        self.torch, self.nccl = setup.torch, NCCL[setup.torch]
        self.world, self.per_node = setup.ranks, min(setup.per_node, setup.ranks)
        self.nodes = self.world // self.per_node
        pattern = self.rng.choice(("gpu{:03d}", "node-{:02d}", "hgx-b{:02d}", "cn{:04d}", "dgx{:02d}", "ip-10-0-7-{}"))
        first = self.rng.randrange(1, 60)
        self.hosts = [pattern.format(first + node) for node in range(self.nodes)]
        self.ips = [f"10.{20 + setup.seed % 7}.{node // 200}.{11 + node % 200}" for node in range(self.nodes)]
        self.agents = [self.rng.randrange(10_000, 900_000) for _ in range(self.nodes)]
        self.pids = [self.agents[self.node(rank)] + 71 + self.local(rank) for rank in range(self.world)]
        self.skew = [0.0] + [self.rng.uniform(-0.8, 0.8) for _ in range(self.nodes - 1)]
        day = self.rng.randrange(1, 28)
        self.zero = dt.datetime(2025, self.rng.randrange(1, 12), day, self.rng.randrange(0, 22), self.rng.randrange(60))
        self.script = self.rng.choice(("pretrain.py", "train.py", "finetune.py", "main_pretrain.py"))
        self.number = self.rng.randrange(400_000, 990_000)
        self.style = self.rng.choice(("logging", "megatron", "hf", "titan", "tqdm"))
        self.seq = self.rng.randrange(200, 900)  # collectives so far
        self.step = 0
        self.attempt = 0
        self.limit = setup.timeout  # of the process group; a scenario may choose another
        self.events: list[Event] = []
        self.silent_from: dict[int, float] = {}
        self.recorded: dict[int, tuple[float, list[str]]] = {}  # tracebacks that @record left to torchrun
        self.records = self.rng.random() < 0.3
        self.hidden: tuple[int, ...] = ()  # nodes whose logs nobody has
        self.torn: frozenset[Literal["head", "tail"]] = frozenset()  # where the cut goes through a line
        self.kept = (float("-inf"), float("inf"))  # what of the time was kept: logs are cut at either end

    # ------------------------------------------------------------------ places and clocks
    def node(self, rank: int) -> int:
        """Say on which node a rank runs."""
        return rank // self.per_node

    def local(self, rank: int) -> int:
        """Give a rank's number on its node."""
        return rank % self.per_node

    def host(self, rank: int) -> str:
        """Name the host of a rank."""
        return self.hosts[self.node(rank)]

    def on(self, node: int) -> list[int]:
        """List the ranks of a node."""
        return list(range(node * self.per_node, (node + 1) * self.per_node))

    def others(self, *but: int) -> list[int]:
        """List all ranks but these."""
        return [rank for rank in range(self.world) if rank not in but]

    def any_rank(self, *, above: int = 0) -> int:
        """Draw a rank."""
        return self.rng.randrange(above, self.world)

    def bus(self, rank: int) -> str:
        """Give the PCI address of a rank's GPU."""
        return f"0000:{BUSES[self.local(rank) % 8]}:00"

    def clock(self, time: float, node: int) -> dt.datetime:
        """Read the clock of a node."""
        return self.zero + dt.timedelta(seconds=time + self.skew[node])

    def when(self, time: float, rank: int) -> dt.datetime:
        """Read the clock of a rank's node."""
        return self.clock(time, self.node(rank))

    def since(self, release: str) -> bool:
        """Say whether the job's PyTorch is of this release or a later one."""
        return number(self.torch) >= number(release)

    # ------------------------------------------------------------------ lines
    def put(
        self,
        time: float,
        kind: Kind,
        index: int,
        lines: str | Iterable[str],
        stream: Stream = "stderr",
    ) -> None:
        """Let a source print lines."""
        for line in [lines] if isinstance(lines, str) else lines:
            self.events.append(Event(time, kind, index, line, self.attempt, stream))

    def say(self, time: float, rank: int, lines: str | Iterable[str], stream: Stream = "stderr") -> None:
        """Let a rank print lines."""
        self.put(time, "rank", rank, lines, stream)

    def warn(self, time: float, rank: int, name: str, line: int, text: str) -> None:
        """Let NCCL in a rank warn: an empty line, then the message; with the time since NCCL 2.26 (src/debug.cc)."""
        when = self.when(time, rank)
        stamp = f"[{when:%Y-%m-%d %H:%M:%S}] " if number(self.nccl) >= (2, 26) else ""
        thread = self.pids[rank] + 433
        head = f"{stamp}{self.host(rank)}:{self.pids[rank]}:{thread} [{self.local(rank)}] {name}:{line} NCCL WARN "
        trail = (self.host(rank), self.pids[rank], thread, self.local(rank))
        self.put(time, "nccl", rank, ["", head + text, *printed("nccl.trail", trail=trail, file=name, line=line + 30)])

    def info(self, time: float, rank: int, lines: Iterable[str]) -> None:
        """Let NCCL in a rank inform (src/debug.cc; the number in brackets is the device, not the rank)."""
        head = f"{self.host(rank)}:{self.pids[rank]}:{self.pids[rank] + 391} [{self.local(rank)}] NCCL INFO "
        self.put(time, "nccl", rank, [head + line for line in lines], "stdout")

    def kernel(self, time: float, node: int, lines: Iterable[str]) -> None:
        """Let the kernel of a node log (dmesg -T)."""
        stamp = f"[{self.clock(time, node):%a %b %e %H:%M:%S %Y}] "
        self.put(time, "kernel", node, [stamp + line for line in lines])

    def silence(self, time: float, ranks: Iterable[int]) -> None:
        """Let ranks print nothing from now on."""
        for rank in ranks:
            self.silent_from[rank] = min(time, self.silent_from.get(rank, time))

    def restarted(self) -> None:
        """Begin another attempt with new processes."""
        self.events = self.printed()
        self.silent_from = {}
        self.attempt += 1
        self.pids = [pid + 1000 for pid in self.pids]

    def printed(self) -> list[Event]:
        """Give the lines in the order in which they were printed, without those of the dead."""
        kept = [
            event
            for event in self.events
            if event.kind not in ("rank", "nccl")
            or event.attempt < self.attempt
            or event.time < self.silent_from.get(event.index, float("inf"))
        ]
        return sorted(kept, key=lambda event: event.time)

    def sample(self, ranks: Sequence[int], share: float) -> list[int]:
        """Draw a share of ranks, at least one."""
        return sorted(self.rng.sample(list(ranks), max(1, round(share * len(ranks)))))
