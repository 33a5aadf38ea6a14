"""What the processes of a rank print: PyTorch's C++ and Python, NCCL, and the training loop itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from tests.scale.job import HOME, SITE, Job
from tests.scale.lines import at, entries, printed

Frame = tuple[str, int, str, str]  # file, line, function, code


class Collective(Struct, frozen=True):
    """A collective of a process group, as one rank sees it."""

    seq: int
    op: str = "ALLREDUCE"
    numel: int = 16_777_216
    out: int = 0  # elements of the output; those of the input when 0
    group: str = "0(default_pg)"  # PG GUID
    group_id: int = 0
    group_rank: int | None = None  # the rank in the group; the global rank when None
    ahead: int = 2  # enqueued beyond it
    behind: int = 1  # between it and the last completed

    def work(self, job: Job) -> str:
        """Spell the work as WorkNCCL does (operator<< in PGN)."""
        size = f"NumelIn={self.numel}, NumelOut={self.out or self.numel}, "
        return f"WorkNCCL(SeqNum={self.seq}, OpType={self.op}, {size}Timeout(ms)={job.limit * 1000})"


def c10(job: Job, time: float, rank: int, message: str, level: str = "E", /, **fields: Any) -> list[str]:
    """Write a message of c10's logging; empty where the release has none.

    The head is `[rank3]:` since 2.2, `[E1206 18:44:12.715298746 file.cpp:607]` since 2.4 (c10/util/Logging.cpp: the
    month without a leading zero), `[E file.cpp:607]` before.
    """
    if entries()[message].at and not at(message, job.torch):
        return []
    file = {"store.recv_failed": "TCPStore.cpp", "socket.ipv6": "socket.cpp"}.get(message, "ProcessGroupNCCL.cpp")
    when = job.when(time, rank)
    nanos = job.rng.randrange(1000)
    stamp = f"{when.month}{when:%d %H:%M:%S}.{when.microsecond:06d}{nanos:03d}" if job.since("2.4") else ""
    who = f"[rank{rank}]:" if job.since("2.2") else ""
    head = f"{who}[{level}{stamp} {file}:{at(message, job.torch)}] "
    first, *rest = printed(message, job.torch, **fields)
    return [head + first, *rest]


def group_name(job: Job, rank: int, what: Collective | None = None) -> str:
    """Name the process group and the rank in it (createLogPrefix in PGN): none before 2.3."""
    what = what or Collective(0)
    inner = rank if what.group_rank is None else what.group_rank
    if job.since("2.5"):
        return f"[PG ID {what.group_id} PG GUID {what.group} Rank {inner}] "
    if job.since("2.4"):
        return f"[PG {what.group_id} ({what.group.partition('(')[2].rstrip(')') or 'undefined'}) Rank {inner}] "
    return f"[PG {what.group_id} Rank {inner}] " if job.since("2.3") else f"[Rank {inner}] "


def root(job: Job) -> str:
    """Say from where the wheel was built."""
    return "/pytorch" if job.since("2.6") else ".."


def timed_out(job: Job, time: float, rank: int, what: Collective, waited: float, *, full: bool = False) -> list[str]:
    """Write what the watchdog of one rank prints when a collective did not finish in time."""
    inner = rank if what.group_rank is None else what.group_rank
    fields: dict[str, Any] = {
        "group_rank": inner,
        "work": what.work(job),
        "ran": round(waited * 1000),
        "pg": group_name(job, rank, what),
        "seq": what.seq,
        "enqueued": what.seq + what.ahead,
        "completed": what.seq - what.behind,
        "whom": "this local rank",
    }
    out: list[str] = []
    for message in ("pg.caught", "pg.status", "pg.nostack", "pg.timeout", "pg.first_dump"):
        out += c10(job, time, rank, message, **fields)
    if job.since("2.6"):
        own = fields | {"pg": group_name(job, rank)}
        out += c10(job, time + 0.09, rank, "pg.received_dump", **own)
        out += c10(job, time + 0.09, rank, "pg.preparing_dump", **own)
    for message in ("pg.some_failed", "pg.taking_down"):
        out += c10(job, time + 0.2, rank, message, **fields)
    if full:
        caught = printed("pg.caught", job.torch, **fields)[0]
        out += c10(job, time + 0.2, rank, "pg.terminated", what=caught, **fields)
        lead = fields["pg"] + "Process group watchdog thread terminated with exception: " if job.since("2.3") else ""
        if at("pg.raised_from", job.torch):
            out += printed("pg.raised_from", job.torch, root=root(job)) + frames(job)
        out += printed("pg.terminate_called", job.torch, what=f"{lead}{caught}")
    return out


def heard_of_dump(job: Job, time: float, rank: int, of: int) -> list[str]:
    """Write what a rank prints that hears of another rank's time-out through the store (2.5 and later)."""
    fields = {"pg": group_name(job, rank), "whom": f" rank {of}", "enqueued": job.seq, "completed": job.seq}
    out: list[str] = []
    for message in ("pg.observed_dump", "pg.received_dump", "pg.preparing_dump"):
        out += c10(job, time, rank, message, **fields)
    return out


def frames(job: Job) -> list[str]:
    """Write the C++ stack of a watchdog."""
    a, b = (f"{job.rng.randrange(1 << 40):010x}" for _ in "ab")
    return printed("pg.frames", job.torch, a=a, b=b, site=SITE)


def traceback(job: Job, rank: int, calls: Sequence[Frame], error: Sequence[str]) -> list[str]:
    """Write a Python traceback; its lines carry `[rank3]: ` since 2.3 (the hook in distributed_c10d.py)."""
    out = ["Traceback (most recent call last):"]
    for file, line, name, code in calls:
        out += [f'  File "{file}", line {line}, in {name}', f"    {code}"]
    out += error
    return [f"[rank{rank}]: {line}" if line else line for line in out] if job.since("2.3") else out


def main_frames(job: Job, *inner: Frame) -> list[Frame]:
    """Give the frames from the script's end down."""
    script = f"{HOME}/{job.script}"
    return [(script, 212, "<module>", "main()"), (script, 188, "main", "trainer.fit(state)"), *inner]


def step_frame(job: Job, code: str, line: int = 148) -> Frame:
    """Give the frame of the training step."""
    return (f"{HOME}/{job.script}", line, "fit", code)


ALL_REDUCE: Frame = (
    f"{SITE}/torch/distributed/distributed_c10d.py",
    2806,  # of 2.6
    "all_reduce",
    "work = group.allreduce([tensor], opts)",
)


def dies_of(job: Job, time: float, rank: int, calls: Sequence[Frame], error: Sequence[str]) -> None:
    """Let an exception end the training function of a rank: its own traceback, or what Ray's driver shows of it.

    Under Ray Train it travels to the driver (ray/exceptions.py, RayTaskError; worker_group.py of 2.9 to 2.40).
    """
    if job.launcher != "ray":
        job.say(time, rank, traceback(job, rank, calls, error))
        if job.launcher == "torchrun" and job.records:  # @record writes error.json, and torchrun shows it
            lines = ["Traceback (most recent call last):"]
            for file, line, name, code in calls:
                lines += [f'    File "{file}", line {line}, in {name}', f"      {code}"]
            job.recorded[rank] = (time, [*lines, *(f"  {line}" for line in error)])
        return
    if any(event.attempt == job.attempt and "RayTaskError" in event.text for event in job.events):
        return  # the first exception ends the run; the driver shows no other
    kind = error[0].partition(":")[0].rpartition(".")[2]
    place = f"pid={job.pids[rank]}, ip={job.ips[job.node(rank)]}, actor_id={job.rng.randrange(1 << 128):032x}"
    worker = "repr=<ray.train._internal.worker_group.RayTrainWorker object at 0x7f25a836a220>"
    head = [
        f"{job.when(time, 0):%Y-%m-%d %H:%M:%S,%f}"[:-3]
        + "\tERROR tune_controller.py:1331 -- Trial task failed for trial "
        f"TorchTrainer_{job.number:x}_00000",
        "Traceback (most recent call last):",
        f'  File "{SITE}/ray/air/execution/_internal/event_manager.py", line 110, in resolve_future',
        "    result = ray.get(future)",
        f"ray.exceptions.RayTaskError({kind}): ray::_RayTrainWorker__execute.get_next() ({place}, {worker})",
        f'  File "{SITE}/ray/train/_internal/worker_group.py", line 33, in __execute',
        "    raise skipped from exception_cause(skipped)",
        f'  File "{SITE}/ray/train/_internal/utils.py", line 169, in discard_return_wrapper',
        "    train_func(*args, **kwargs)",
    ]
    for file, line, name, code in calls:
        head += [f'  File "{file}", line {line}, in {name}', f"    {code}"]
    job.put(time, "driver", 0, [*head, *error])


def raised(job: Job, time: float, who: int, message: str, /, *inner: Frame, **fields: Any) -> None:
    """Let a rank die of an exception of `lines.yaml`."""
    dies_of(job, time, who, main_frames(job, *inner), printed(message, job.torch, **fields))


def raised_text(job: Job, time: float, rank: int, error: str, *inner: Frame) -> None:
    """Let a rank die of an exception of the user's own code."""
    dies_of(job, time, rank, main_frames(job, *inner), error.split("\n"))


def lost_peer(job: Job, time: float, rank: int, peer: int, *, in_main: bool) -> None:
    """Let a rank notice that a peer is gone: NCCL warns, then the watchdog or the main thread gives up."""
    address, port = job.ips[job.node(peer)], job.rng.randrange(32_000, 60_000)
    last = printed("nccl.closed", job.nccl, peer=address, port=port)[0]
    job.warn(time, rank, "misc/socket.cc", at("nccl.closed", job.nccl), last)
    remote_error(job, time + 0.2, rank, last, in_main=in_main)


def remote_error(job: Job, time: float, rank: int, last: str, *, in_main: bool) -> None:
    """Let a rank give up with ncclRemoteError."""
    if in_main:
        raised(job, time, rank, "pg.backend_error", step_frame(job, "dist.all_reduce(stats)", 171), ALL_REDUCE,
               root=root(job), nccl=job.nccl, last=last)  # fmt: skip
        return
    what = Collective(job.seq + 1)
    fields = {"group_rank": rank, "work": what.work(job), "nccl": job.nccl, "last": last, "pg": group_name(job, rank)}
    lines = c10(job, time, rank, "pg.async_error", **fields)
    error = printed("pg.async_error", job.torch, **fields)[0].partition("exception: ")[2]
    for message in ("pg.some_failed", "pg.taking_down"):
        lines += c10(job, time, rank, message, **fields)
    lines += c10(job, time, rank, "pg.terminated", what=error, **fields)
    job.say(time, rank, lines)


def cuda_watchdog(job: Job, time: float, rank: int, error: str) -> None:
    """Let the watchdog of a rank end with a CUDA error of its own device."""
    what = printed("pg.cuda_error", job.torch, error=error)
    fields = {"group_rank": rank, "pg": group_name(job, rank)}
    job.say(time, rank, c10(job, time, rank, "pg.terminated", what=what[0], **fields) + what[1:] + frames(job))


def store_gone(job: Job, time: float, rank: int) -> None:
    """Let the monitor thread of a rank find that the store has gone (2.5 and later)."""
    fields: dict[str, Any] = {"host": job.host(rank), "port": 40_000 + rank, "master": job.hosts[0], "site": SITE}
    fields["lost"] = printed("store.lost", job.torch)[0]
    fields |= {"a": f"{job.rng.randrange(1 << 40):010x}", "b": f"{job.rng.randrange(1 << 40):010x}"}
    lines = c10(job, time, rank, "store.recv_failed", "W", **fields)
    job.say(time, rank, lines + c10(job, time, rank, "store.should_dump", "W", pg=group_name(job, rank), **fields))
