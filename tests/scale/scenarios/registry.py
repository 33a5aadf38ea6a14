"""The list of scenarios, and the steps that many of them share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from tests.scale.job import Job
from tests.scale.label import Label
from tests.scale.launchers import collapses, ended, launched
from tests.scale.noise import runs, starts
from tests.scale.prints import Collective, heard_of_dump, lost_peer, store_gone, timed_out

Play = Callable[[Job], Label]
ALL = ("torchrun", "accelerate", "srun", "lightning", "mpirun", "deepspeed", "ray", "k8s")
SURVIVING = ("torchrun", "accelerate", "srun", "lightning", "deepspeed", "k8s")  # the rest of the job outlives a rank
EACH_SHOWN = tuple(name for name in ALL if name != "ray")  # Ray's driver shows one exception, whoever else raised
SLURM = ("srun", "lightning")
ELASTIC = ("torchrun", "accelerate", "k8s")


class Scenario(Struct, frozen=True):
    """A scenario, and where it can happen."""

    name: str
    play: Play
    launchers: tuple[str, ...]
    since: str  # the first PyTorch
    only: tuple[str, ...]  # forms; all of the launchers' when empty


SCENARIOS: dict[str, Scenario] = {}


def scenario(*launchers: str, since: str = "2.1", only: Sequence[str] = ()) -> Callable[[Play], Play]:
    """Enter a function into the list under its name."""

    def enter(play: Play) -> Play:
        name = play.__name__.replace("_", "-")
        SCENARIOS[name] = Scenario(name, play, launchers or ALL, since, tuple(only))
        return play

    return enter


def under_way(job: Job, steps: int = 30, *, informed: bool = False) -> float:
    """Start the job and let it make steps; returns the time."""
    launched(job, 0, informed=informed)
    return runs(job, starts(job, 3), steps)


def wait_and_fall(job: Job, time: float, waiting: Iterable[int], what: Collective, *, all_print: bool = False) -> float:
    """Let ranks wait in a collective since `time`, and the job end.

    Args:
        job: the job.
        time: since when they wait.
        waiting: the ranks.
        what: the collective.
        all_print: every rank prints its time-out; else a few are stopped before.
    """
    ranks = [rank for rank in waiting if rank not in job.silent_from]
    limit = job.limit
    if all_print or job.launcher in SLURM:  # nobody stops the others there
        printing = ranks
    else:
        printing = job.sample(ranks, job.rng.uniform(0.8, 0.97)) if ranks else []
    for rank in printing:
        late = job.rng.uniform(0.05, 1.4)
        full = job.rng.random() < 0.1
        job.say(
            time + limit + late, rank, timed_out(job, time + limit + late, rank, what, limit + late * 0.06, full=full)
        )
    if job.since("2.5"):
        for rank in job.sample(ranks, 0.1) if ranks and printing else []:
            job.say(time + limit + 0.9, rank, heard_of_dump(job, time + limit + 0.9, rank, printing[0]))
    collapses(job, time + limit + 2)
    return time + limit + 12


def orphaned(
    job: Job,
    time: float,
    dead: Sequence[int],
    *,
    first: int,
    code: int,
    also: Sequence[tuple[int, int]] = (),
    since: float | None = None,
) -> float:
    """Let ranks end, their launcher act, and the others lose them: some see it at once, the rest waits in vain.

    Args:
        job: the job.
        time: when they ended.
        dead: the ranks whose end breaks the job.
        first: the rank that the launcher of the node takes for the first.
        code: its exit code.
        also: others on the node that ended, with their codes.
        since: since when the others wait; about when the rank died where None.
    """
    alive = ended(job, time, first, code, also)
    if not alive:  # the launcher ends the whole job; some still see the connection go
        for rank in job.sample([rank for rank in range(job.world) if rank not in dead], 6 / job.world):
            lost_peer(job, time + 0.1, rank, dead[0], in_main=False)
        return time + 5
    near = [rank for rank in alive if job.local(rank) == job.local(dead[0])] or alive[:1]
    hit = job.sample(near, job.rng.uniform(0.05, 0.3)) if job.rng.random() < 0.6 else []
    codes: dict[int, int] = {}
    for rank in hit:
        codes[rank] = job.rng.choice((1, -6))
        lost_peer(job, time + job.rng.uniform(1, 3), rank, dead[0], in_main=codes[rank] == 1)
    gone = job.node(0) == job.node(dead[0]) and job.launcher in ELASTIC  # the agent of node 0 hosts the store
    if gone:
        for rank in job.sample(alive, 0.3):
            store_gone(job, time + job.rng.uniform(4, 20), rank)
    for node in sorted({job.node(rank) for rank in hit}):
        here = [(rank, codes[rank]) for rank in hit if job.node(rank) == node]
        ended(job, time + 4, *here[0], here[1:])
    rest = [rank for rank in range(job.world) if rank not in job.silent_from]
    return wait_and_fall(job, time + 0.1 if since is None else since, rest, Collective(job.seq + 3))
