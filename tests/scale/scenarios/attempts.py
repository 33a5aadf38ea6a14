"""A job that is restarted."""

from __future__ import annotations

from collections.abc import Callable

from tests.scale.job import Job
from tests.scale.label import Cause, Label
from tests.scale.launchers import agent_says, cancelled, collapses, ended, launched
from tests.scale.lines import at, printed
from tests.scale.noise import runs, starts
from tests.scale.prints import raised_text, remote_error, step_frame
from tests.scale.scenarios.crashes import DATA, LOADER, MEMORY, OOM, OWN, bad_record, runs_out_of_memory
from tests.scale.scenarios.registry import ELASTIC, scenario

RESTARTING = ("torchrun/tree", "torchrun/node", "torchrun/tee", "torchrun/nccl", "srun/label", "srun/plain", "k8s/pod")
MOST = 2


def attempt(job: Job, time: float, fails: Callable[[float], int], *, last: bool) -> float:
    """Let one attempt run, fail on a rank, and end on all nodes; returns the time of the next one."""
    launched(job, time, informed=True)
    time = runs(job, starts(job, time + 3), 20)
    rank = fails(time)
    if job.launcher in ELASTIC and not last:
        job.silence(time + 0.9, [rank])
        for node in range(job.nodes):  # a restart stops the processes; there is no account of the failure yet
            x = time + job.rng.uniform(2, 8)
            if node == job.node(rank):
                fields = {
                    "code": 1,
                    "local": job.local(rank),
                    "pid": job.pids[rank],
                    "python": "/opt/venv/bin/python3.11",
                }
                agent_says(job, x, node, "elastic.failed", **fields)
                agent_says(job, x, node, "elastic.restart", "I", left=MOST - job.attempt, most=MOST)
            else:
                agent_says(job, x, node, "elastic.new_nodes", "I", node=node)
            for peer in job.on(node):
                if peer != rank:
                    agent_says(job, x + 0.3, node, "elastic.closing", "W", pid=job.pids[peer], signal="SIGTERM")
        job.silence(time + 2, range(job.world))
        time += 14
    else:
        ended(job, time + 1, rank, 1)
        collapses(job, time + 30)
        if not last:
            cancelled(job, time + 40, " DUE TO TASK FAILURE") if job.launcher == "srun" else None
            job.put(
                time + 44,
                "driver",
                0,
                f"run.sh: attempt {job.attempt + 1} failed with status 1, starting again from the last checkpoint",
            )
            time += 45
    if not last:
        job.restarted()
    return time


@scenario("torchrun", "srun", only=RESTARTING)
def three_attempts_same_cause(job: Job) -> Label:
    """The same record breaks the same rank in every attempt."""
    rank = job.any_rank()
    broken = job.rng.getstate()

    def fails(time: float) -> int:
        job.rng.setstate(broken)
        bad_record(job, time + 0.4, rank)
        return rank

    time = 0.0
    for number in range(MOST + 1):
        time = attempt(job, time, fails, last=number == MOST)
    cause = Cause((*DATA, "torchrun-elastic-restart-loop"), rank)
    return Label(
        what=f"In three attempts rank {rank}'s data loader raises.",
        cause=cause,
        scope=("rank",),
        attempts=(cause,) * 3,
        shown=LOADER,
    )


@scenario("torchrun", "srun", only=RESTARTING, since="2.2")
def three_attempts_three_causes(job: Job) -> Label:
    """A link error, then a bug of the user's code, then out of memory: each on another rank."""
    first, second, third = job.rng.sample(range(job.world), 3)

    def link(time: float) -> int:
        peer = job.ips[(job.node(first) + 1) % job.nodes]
        fields = {"peer": peer, "ip": job.ips[job.node(first)], "port": 41_337, "hca": "mlx5_2"}
        text = printed("nccl.completion", job.nccl, status=12, vendor=129, **fields)[0]
        job.warn(time + 0.4, first, "transport/net_ib.cc", at("nccl.completion", job.nccl), text)
        remote_error(job, time + 0.6, first, text, in_main=False)
        return first

    def bug(time: float) -> int:
        raised_text(
            job,
            time + 0.4,
            second,
            "ZeroDivisionError: division by zero",
            step_frame(job, "rate = tokens / waited", 172),
        )
        return second

    def memory(time: float) -> int:
        runs_out_of_memory(job, time + 0.4, third)
        return third

    time = 0.0
    for fails in (link, bug, memory):
        time = attempt(job, time, fails, last=fails is memory)
    causes = (Cause(("nccl-ib-retry-exceeded",), may=(first,)), Cause(OWN, second), Cause(OOM, third))
    what = f"Attempt 0: a link error, seen by {first}; 1: an exception of {second}; 2: {third} out of GPU memory."
    return Label(what=what, cause=causes[2], scope=("rank",), attempts=causes, shown=MEMORY)


@scenario("torchrun", only=("torchrun/tree", "torchrun/node", "torchrun/tee"))
def recovered_after_a_restart(job: Job) -> Label:
    """The first attempt fails, the second one ends well."""
    rank = job.any_rank()

    def fails(time: float) -> int:
        raised_text(
            job,
            time + 0.4,
            rank,
            "OSError: [Errno 5] Input/output error",
            step_frame(job, "batch = next(batches)", 131),
        )
        return rank

    time = attempt(job, 0, fails, last=False)
    launched(job, time, informed=True)
    time = runs(job, starts(job, time + 3), 25)
    when = f"{job.when(time + 2, 0):%Y-%m-%d %H:%M:%S,000}"
    job.say(time + 2, 0, f"{when} - trainer - INFO - saved final checkpoint, training finished", "stdout")
    return Label(
        what="The first attempt fails, the second one ends well.",
        ends="healthy",
        attempts=(Cause(OWN, rank), Cause(())),
    )
