"""Builds scenes of failing jobs from lines of text, with the marks and formats of `kb/` and no entries."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from denpex_kb.catalog.kbfiles import load_kb
from denpex_kb.derive.attempts import number_attempts
from denpex_kb.derive.began import who_began
from denpex_kb.derive.blocks import group_blocks
from denpex_kb.derive.clocks import Clocks
from denpex_kb.derive.incidents import Case, split
from denpex_kb.derive.nouns import Began, Scene
from denpex_kb.derive.progress import RunState, overtaken_lines, run_state
from denpex_kb.derive.ranks import Ranks, assign_ranks
from denpex_kb.derive.relations import relations_of
from denpex_kb.derive.scene import build_scene, learn_skew
from denpex_kb.derive.states import rank_states
from denpex_kb.derive.zones import learn_zones
from denpex_kb.index.build import make_rules
from denpex_kb.index.scandb import compile_database
from denpex_kb.model.events import Reading, Seen
from denpex_kb.model.facts import FactSet
from denpex_kb.model.kb import Kb
from denpex_kb.model.rules import RuleSet
from denpex_kb.read.paths import PathReader
from denpex_kb.read.prefixes import PrefixReader
from denpex_kb.read.scan import Scanner
from denpex_kb.read.timestamps import TimeReader

KB = Path(__file__).parents[2] / "kb"
START = 12 * 3600  # the time of day at which the clocks of these jobs begin


@cache
def _tools() -> tuple[Kb, RuleSet, Scanner]:
    kb = load_kb(KB)
    rules, _ = make_rules((), kb)
    return (
        kb,
        rules,
        Scanner(rules, compile_database(rules.patterns, kb.common), PrefixReader(kb.prefixes), TimeReader(kb.times)),
    )


@dataclass(frozen=True)
class Told:
    """What was concluded of one attempt."""

    scene: Scene
    began: Began
    state: RunState
    seen: list[Seen]
    relations: dict[str, object]

    @property
    def rank(self) -> int | None:
        """The initiating rank."""
        return self.began.initiating.rank if self.began.initiating is not None else None

    @property
    def ranks(self) -> Ranks:
        """Who is who."""
        return self.scene.ranks

    @property
    def incidents(self) -> list[Case]:
        """The independent failures."""
        return split(self.scene, self.began, self.seen)

    @property
    def states(self) -> dict[int, str]:
        """What became of each rank."""
        _, rules, _ = _tools()
        held = rank_states(self.scene, self.began, self.relations, self.seen, {}, rules)  # type: ignore[arg-type]
        return {state.rank: state.state for state in held}


def attempts_of(**files: str) -> list[Told]:
    """Read some files, named by keyword (`rank3_log` is rank3.log), and conclude every attempt."""
    kb, rules, scanner = _tools()
    paths = PathReader(kb.paths)
    readings: list[Reading] = []
    for key, text in files.items():
        name = key.replace("__", "/")
        name = name[: -len("_log")] + ".log" if name.endswith("_log") else name
        readings.append(scanner.scan((text.encode(),), paths.read(name)))
    facts = FactSet(fact for reading in readings for fact in reading.facts)
    clocks = Clocks(readings)
    group_blocks(readings, rules)
    count = number_attempts(readings, rules, clocks)
    ranks = assign_ranks(readings, rules, facts)
    learn_zones(readings, ranks, clocks)
    learn_skew(readings, rules, clocks)
    told: list[Told] = []
    for number in range(count):
        seen = [item for reading in readings for item in reading.seen if item.line.attempt == number]
        progress = [item for reading in readings for item in reading.progress if item.line.attempt == number]
        overtaken = overtaken_lines(seen, progress, rules)
        scene = build_scene(readings, seen, progress, rules, ranks, clocks, overtaken, {}, number)
        began = who_began(scene)
        relations = relations_of(scene, began, [item.began for item in told])
        state = run_state(readings, seen, progress, rules, began, number, clocks, hung=False)
        told.append(Told(scene, began, state, seen, dict(relations)))
    return told


def tell(*lines: str) -> Told:
    """Conclude one log of one attempt."""
    return attempts_of(train_log="\n".join(lines) + "\n")[-1]


def clock(second: float) -> str:
    """Write a time of day, some seconds after the job's start."""
    whole = int(START + second)
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}.{int(second % 1 * 1e6):06d}"


def timeout(rank: int, at: float, seq: int = 90, op: str = "ALLREDUCE", numel: int = 4096, group: str = "0") -> str:
    """Write the line of a watchdog that waited for ten minutes."""
    return (
        f"[rank{rank}]:[E1103 {clock(at)} ProcessGroupNCCL.cpp:632] [PG ID {group} PG GUID {group}"
        f"{'(default_pg)' if group == '0' else ''} Rank {rank}] Watchdog caught collective operation timeout: "
        f"WorkNCCL(SeqNum={seq}, OpType={op}, NumelIn={numel}, NumelOut={numel}, Timeout(ms)=600000) "
        "ran for 600040 milliseconds before timing out."
    )


def raised(error: str, rank: int | None = None) -> str:
    """Write a short traceback."""
    lines = ["Traceback (most recent call last):", '  File "train.py", line 12, in <module>', "    main()", error]
    return "\n".join(f"[rank{rank}]: {line}" if rank is not None else line for line in lines)


def lost(rank: int) -> str:
    """Write how a rank tells that it lost a peer."""
    return raised("RuntimeError: [../gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.9]:41234", rank)


def comm(rank: int, world: int, host: str = "gpu-01", device: int | None = None, bus: str = "4f000") -> str:
    """Write the line with which NCCL says who is who."""
    dev = rank if device is None else device
    return (
        f"{host}:{4200 + rank}:{4300 + rank} [{dev}] NCCL INFO ncclCommInitRank comm 0x55d0c1e0 rank {rank} "
        f"nranks {world} cudaDev {dev} nvmlDev {dev} busId {bus} commId 0x1f - Init COMPLETE"
    )


def entry(rank: int, code: int, host: str = "gpu-01", local: int | None = None, pid: int | None = None) -> str:
    """Write one entry of torchrun's block."""
    local = rank if local is None else local
    return "\n".join(
        (
            "  time      : 2025-11-03_12:10:03",
            f"  host      : {host}",
            f"  rank      : {rank} (local_rank: {local})",
            f"  exitcode  : {code} (pid: {pid if pid is not None else 4200 + rank})",
            "  error_file: <N/A>",
            "  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html",
        )
    )


def dmesg(text: str, at: float) -> str:
    """Write a line of `dmesg -T`."""
    return f"[Mon Nov  3 {clock(at)[:8]} 2025] {text}"
