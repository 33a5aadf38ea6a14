"""Flight-recorder dumps of a training job into which one fault was put."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Dump = dict[str, Any]
DP = "default_pg"


class Job:
    """A job whose ranks call the same collectives, step by step, until a fault stops them."""

    def __init__(self, world: int, groups: Mapping[str, Sequence[int]] | None = None, *, prune: bool = False) -> None:
        self.world = world
        self.groups = {"0": list(range(world)), **{name: list(ranks) for name, ranks in (groups or {}).items()}}
        self.entries: dict[int, list[Dump]] = {rank: [] for rank in range(world)}
        self.clock = 1_000
        self.prune = prune
        self.lost: set[int] = set()

    def call(
        self,
        rank: int,
        op: str = "all_reduce",
        *,
        group: str = "0",
        size: int = 4096,
        state: str = "completed",
        frames: Sequence[tuple[str, str, int]] = (),
    ) -> None:
        """Record one collective of one rank."""
        p2p = op.startswith(("send", "recv"))
        own = self.entries[rank]
        seq = 1 + sum(entry["process_group"][0] == group and entry["is_p2p"] == p2p for entry in own)
        self.clock += 10
        own.append(
            {
                "record_id": len(own),
                "pg_id": list(self.groups).index(group),
                "process_group": (group, DP if group == "0" else "undefined"),
                "collective_seq_id": 0 if p2p else seq,
                "p2p_seq_id": seq if p2p else 0,
                "op_id": seq,
                "profiling_name": f"nccl:{op}",
                "time_created_ns": self.clock,
                "input_sizes": [[size]],
                "output_sizes": [[size]],
                "input_dtypes": ["BFloat16"],
                "output_dtypes": ["BFloat16"],
                "state": state,
                "retired": state == "completed",
                "timeout_ms": 600_000,
                "is_p2p": p2p,
                "frames": [{"name": name, "filename": file, "line": line} for name, file, line in frames],
            }
        )

    def step(
        self, *, group: str = "0", state: str = "completed", without: Sequence[int] = (), size: int = 4096
    ) -> None:
        """Record one all-reduce of every member of a group."""
        for rank in self.groups[group]:
            if rank not in without:
                self.call(rank, group=group, state=state, size=size)

    def dumps(self) -> dict[int, Dump]:
        """Return the dump of every rank that left one."""
        return {rank: self._dump(rank) for rank in range(self.world) if rank not in self.lost}

    def _dump(self, rank: int) -> Dump:
        own = self.entries[rank]
        status = {}
        for number, group in enumerate(self.groups):
            held = [entry for entry in own if entry["process_group"][0] == group]
            done = [entry["op_id"] for entry in held if entry["retired"]]
            status[str(number)] = {
                "last_enqueued_collective": max((entry["op_id"] for entry in held), default=0),
                "last_started_collective": -1,
                "last_completed_collective": max(done, default=0),
            }
        config = {
            name: {"name": name, "desc": DP if name == "0" else "undefined", "ranks": str(ranks)}
            for name, ranks in self.groups.items()
            if rank in ranks
        }
        kept = [entry for entry in own if not (self.prune and entry["retired"])]
        return {"version": "2.9", "pg_config": config, "pg_status": status, "entries": kept, "nccl_version": "2.27.3"}


def rank_never_called(world: int = 8, bad: int = 3, *, prune: bool = False) -> Job:
    """One rank stands elsewhere; the others wait in a collective that it never called."""
    job = Job(world, prune=prune)
    for _ in range(3):
        job.step()
    job.step(state="started", without=[bad])
    job.step(state="scheduled", without=[bad])
    return job


def rank_left_no_dump(world: int = 8, bad: int = 5) -> Job:
    """One rank died without a dump."""
    job = rank_never_called(world, bad)
    job.lost = {bad}
    return job


def device_stopped(world: int = 4, bad: int = 2) -> Job:
    """One rank's device did not complete what the devices of the others did."""
    job = Job(world)
    job.step()
    for rank in range(world):
        job.call(rank, state="started" if rank == bad else "completed")
    job.step(state="scheduled")
    return job


def other_operation(world: int = 8, bad: int = 6) -> Job:
    """One rank calls another operation."""
    job = Job(world)
    job.step()
    for rank in range(world):
        job.call(rank, "_all_gather_base" if rank == bad else "all_reduce", state="started")
    return job


def other_order(world: int = 4, bad: int = 1) -> Job:
    """One rank calls two operations in the other order."""
    job = Job(world)
    for rank in range(world):
        for op in ("broadcast", "all_reduce") if rank == bad else ("all_reduce", "broadcast"):
            job.call(rank, op, state="scheduled")
    return job


def other_size(world: int = 8, bad: int = 0) -> Job:
    """One rank's tensor is larger."""
    job = Job(world)
    job.step()
    for rank in range(world):
        job.call(rank, size=8192 if rank == bad else 4096, state="started")
    return job


def subgroup_blocks_world(bad: int = 5) -> Job:
    """A rank is missing in its tensor-parallel group; its neighbour is then missing in the group of all."""
    job = Job(8, {"1": [0, 1, 2, 3], "2": [4, 5, 6, 7]})
    for group in ("1", "2"):
        job.step(group=group)
    job.step(group="2", state="started", without=[bad])
    for rank in range(4):
        job.call(rank, group="1")
        job.call(rank, group="0", state="started")
    return job


def pipeline_waits(bad: int = 0) -> Job:
    """The next stage waits for what the first never sends."""
    job = Job(4, {"pp": [0, 1, 2, 3]})
    for rank, peer in ((1, 0), (2, 1), (3, 2)):
        job.call(rank, f"recv {rank}<-{peer}", group="pp", state="started")
    return job


def sends_cross() -> Job:
    """Two ranks both send first."""
    job = Job(2)
    job.call(0, "send 0->1", state="started")
    job.call(1, "send 1->0", state="started")
    return job


def groups_crossed() -> Job:
    """Rank 0 waits in a barrier of a group of its own, the others in the group of all."""
    job = Job(4, {"7": [0, 1, 2, 3]})
    job.step()
    job.step(group="7")
    job.call(0, "all_reduce_barrier", group="7", size=1, state="started")
    for rank in (1, 2, 3):
        job.call(rank, group="0", state="started")
    return job


def everybody_waits(world: int = 4) -> Job:
    """All ranks wait in the same collective."""
    job = Job(world)
    job.step()
    job.step(state="started")
    return job


def healthy(world: int = 4) -> Job:
    """Nothing is pending."""
    job = Job(world)
    for _ in range(4):
        job.step()
    return job


FAULTS: dict[str, tuple[Callable[[], Job], str, tuple[int, ...]]] = {
    "a rank never called": (rank_never_called, "rank-lags", (3,)),
    "a rank never called, done ones dropped": (lambda: rank_never_called(16, 9, prune=True), "rank-lags", (9,)),
    "a rank left no dump": (rank_left_no_dump, "missing-reporter", (5,)),
    "a device stopped": (device_stopped, "rank-lags", (2,)),
    "another operation": (other_operation, "same-sequence-different-op", (6,)),
    "another order": (other_order, "same-sequence-different-op", (1,)),
    "another size": (other_size, "same-sequence-different-size", (0,)),
    "a sub-group blocks the world": (subgroup_blocks_world, "rank-lags", (5,)),
    "a pipeline stage waits": (pipeline_waits, "rank-lags", (0,)),
    "sends that cross": (sends_cross, "rank-lags", ()),
    "groups that cross": (groups_crossed, "same-sequence-different-op", (0,)),
    "everybody in one collective": (everybody_waits, "same-collective-everywhere", ()),
}
