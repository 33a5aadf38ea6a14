"""Nothing fails, or nothing says that anything did."""

from __future__ import annotations

from tests.scale.job import Job
from tests.scale.label import Cause, Label
from tests.scale.launchers import launched
from tests.scale.lines import printed
from tests.scale.noise import note, runs, starts, throttled_step
from tests.scale.prints import c10, main_frames, step_frame, traceback
from tests.scale.scenarios.registry import SURVIVING, scenario, under_way


@scenario()
def log_just_stops(job: Job) -> Label:
    """Everybody waits for ever, and nobody prints anything."""
    under_way(job, 40)
    return Label(what="The log stops in mid-run.", ends="stalled")


@scenario()
def healthy_run(job: Job) -> Label:
    """All is well; there are warnings of all kinds."""
    launched(job, 0)
    time = starts(job, 3)
    time = runs(job, time, 40)
    note(job, time + 2, 0, "saved final checkpoint to /mnt/ckpt/final")
    note(job, time + 3, 0, "training finished")
    for rank in job.sample(range(job.world), 0.3):
        job.say(time + 4, rank, c10(job, time + 4, rank, "pg.no_destroy", "W"))
    return Label(what="The run ends well; every warning is harmless.", ends="healthy")


@scenario(*SURVIVING)
def healthy_with_a_lost_connection_at_the_end(job: Job) -> Label:
    """All is well; processes end one after the other, and NCCL tells of closed connections."""
    launched(job, 0)
    time = starts(job, 3)
    time = runs(job, time, 40)
    note(job, time + 2, 0, f"reached max_steps={job.step}, training finished, checkpoint saved")
    for rank in job.sample(range(job.world), 0.2):
        job.info(time + 4, rank, printed("nccl.service_closed", job.nccl, local=(job.local(rank) + 1) % job.per_node))
    return Label(what="The run ends well.", ends="healthy")


@scenario(*SURVIVING)
def healthy_with_caught_exceptions(job: Job) -> Label:
    """A rank skips a batch that does not fit, another one reads a file again; the run ends well."""
    launched(job, 0)
    time = runs(job, starts(job, 3), 20)
    rank, other = job.rng.sample(range(job.world), 2)
    calls = main_frames(job, step_frame(job, "loss = model(**batch).loss"))
    fields = {"local": job.local(rank), "pid": job.pids[rank], "want": 3, "free": 1, "used": 78, "alloc": 75, "idle": 1}
    lines = traceback(job, rank, calls, printed("py.cuda_oom", job.torch, **fields))
    job.say(time - 1, rank, [line.partition("]: ")[2] if line.startswith("[rank") else line for line in lines])
    note(job, time - 0.9, rank, "batch skipped, cache emptied, going on")
    note(job, time - 0.5, other, "read of shard 00412 failed (TimeoutError: timed out), attempt 1 of 5, trying again")
    time = runs(job, time, 20)
    note(job, time + 2, 0, f"reached max_steps={job.step}, training finished, checkpoint saved")
    return Label(what="Two ranks meet errors that they handle; the run ends well.", ends="healthy")


@scenario(
    *SURVIVING, only=("torchrun/rank", "torchrun/tree", "srun/rank", "lightning/rank", "srun/label", "torchrun/tee")
)
def one_slow_rank_and_no_failure(job: Job) -> Label:
    """A throttled GPU makes every step slow; nothing fails."""
    job.style = "logging"
    time = under_way(job, 15)
    rank = job.any_rank()
    for _ in range(4):
        time = runs(job, time, 5, seconds=3.8)
        throttled_step(job, time, rank, 2.0)
    expect = ("gpu-straggler-thermal", "nccl-multinode-straggler")
    return Label(
        what=f"The GPU of rank {rank} is throttled; every step is slow.",
        cause=Cause(expect, rank),
        scope=("rank",),
        shown=("HW thermal slowdown active",),
    )
