"""What launchers print: at the start, when a process of a node ends, when the job is told to stop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tests.scale.job import HOME, SITE, VENV, Job
from tests.scale.lines import at, printed

SIGNALS = {
    6: ("SIGABRT", "Aborted"),
    7: ("SIGBUS", "Bus error"),
    9: ("SIGKILL", "Killed"),
    11: ("SIGSEGV", "Segmentation fault"),
    15: ("SIGTERM", "Terminated"),
}
PYTHON = f"{VENV}/bin/python3.11"
# Lines of run.py (main, run), launcher/api.py (call, agent) and errors/__init__.py (wrapper) in torchrun's traceback.
TRACE_LINES = {
    release: dict(zip(("main", "run", "call", "agent", "wrapper"), numbers, strict=True))
    for release, numbers in {
        "2.1": (806, 797, 134, 264, 346),
        "2.2": (812, 803, 135, 268, 347),
        "2.3": (879, 870, 132, 263, 347),
        "2.4": (901, 892, 133, 264, 348),
        "2.5": (919, 910, 138, 269, 355),
        "2.6": (918, 909, 138, 269, 355),
        "2.7": (892, 883, 139, 270, 355),
        "2.8": (901, 892, 143, 277, 357),
    }.items()
}
ELASTIC = ("torchrun", "k8s", "accelerate")
MODULES = {"elastic.omp": "run.py", "elastic.closing": "elastic/multiprocessing/api.py"}
MODULES["elastic.failed"] = MODULES["elastic.closing"]


def agent_says(job: Job, time: float, node: int, message: str, level: str = "E", /, **fields: object) -> None:
    """Let torchrun's agent of a node log (torch/_logging/_internal.py, TorchLogsFormatter).

    Since 2.3 as glog does, with the thread until 2.4 and the process since 2.5; before with time, name and level.
    """
    path = MODULES.get(message, "elastic/agent/server/api.py")
    when = job.clock(time, node)
    if job.since("2.3"):
        place = f"torch/distributed/{path}:{at(message, job.torch)}"
        stamp = f"{when:%m%d %H:%M:%S}.{when.microsecond // 1000:03d}000"
        who = job.agents[node] if job.since("2.5") else 140_000_000_000_000 + job.agents[node] * 4096
        head = f"{level}{stamp} {who} {place}] "
    else:
        name = {"E": "ERROR", "W": "WARNING", "I": "INFO"}[level]
        module = "torch.distributed." + path.removesuffix(".py").replace("/", ".")
        head = f"[{when:%Y-%m-%d %H:%M:%S},{when.microsecond // 1000:03d}] {module}: [{name}] "
    first, *rest = printed(message, job.torch, **fields)
    whole = message == "elastic.omp"  # the head stands before each of its lines
    job.put(time, "agent", node, [head + first, *(head + line if whole else line for line in rest)])


def launched(job: Job, time: float, *, informed: bool = False) -> None:
    """Let the launchers of all nodes start their processes."""
    for node in range(job.nodes):
        late = time + job.rng.random()
        if job.launcher in ELASTIC:
            if not job.attempt:
                agent_says(job, late, node, "elastic.omp", "W")
            if informed:
                ranks = job.on(node)
                fields = {
                    "attempt": job.attempt,
                    "master": job.hosts[0],
                    "node": node,
                    "nodes": job.nodes,
                    "locals": ", ".join(str(job.local(rank)) for rank in ranks),
                    "ranks": ", ".join(map(str, ranks)),
                    "worlds": ", ".join(str(job.world) for _ in ranks),
                }
                agent_says(job, late, node, "elastic.rendezvous", "I", **fields)
                agent_says(job, late, node, "elastic.starting", "I")
        elif job.launcher == "ray":
            head = f"(TorchTrainer pid={job.agents[0]}) "
            world = [] if node else [head + "Started distributed worker processes: "]
            for rank in job.on(node):
                place = f"ip={job.ips[node]}, pid={job.pids[rank]}) world_rank={rank}"
                nodeid = f"{job.number * 31 + node:056x}"
                world.append(f"{head}- (node_id={nodeid}, {place}, local_rank={job.local(rank)}, node_rank={node}")
            job.put(time + 2 + node * 0.01, "driver", 0, world)
        elif job.launcher == "deepspeed":
            stamp = ds_stamp(job, late, node)
            of_node = ", ".join(str(local) for local in range(job.per_node))
            fields = {"stamp": stamp, "nodes": job.nodes, "node": node, "count": job.per_node, "world": job.world}
            fields["where"] = ", ".join(f"'{host}': [{of_node}]" for host in job.hosts)
            fields["ranks"] = ", ".join(f"'{host}': {job.on(its)}" for its, host in enumerate(job.hosts))
            job.put(late, "agent", node, printed("ds.world", locals=of_node.replace(" ", ""), **fields))
            for rank in job.on(node):
                fields = {"stamp": stamp, "python": PYTHON, "script": job.script, "local": job.local(rank)}
                job.put(late, "agent", node, printed("ds.spawned", pid=job.pids[rank], **fields))


def ds_stamp(job: Job, time: float, node: int) -> str:
    """Write the time as DeepSpeed's logger does."""
    return f"{job.clock(time, node):%Y-%m-%d %H:%M:%S,%f}"[:-3]


def ended(job: Job, time: float, first: int, code: int, also: Sequence[tuple[int, int]] = ()) -> list[int]:
    """Let a process end with a code, and its launcher do what it does; returns the ranks that live on.

    Args:
        job: the job.
        time: when the process ended; its launcher notices within 3 s.
        first: the rank whose end the launcher takes for the first.
        code: its exit code; negative for a signal.
        also: other ranks of the node that ended by themselves, with their codes.
    """
    node = job.node(first)
    job.silence(time, [first, *(rank for rank, _ in also)])
    seen = time + job.rng.uniform(0.3, 2.8)
    gone = {
        "torchrun": elastic_ends,
        "k8s": elastic_ends,
        "accelerate": elastic_ends,
        "deepspeed": deepspeed_ends,
        "srun": srun_ends,
        "lightning": srun_ends,
        "mpirun": mpirun_ends,
        "ray": ray_ends,
    }[job.launcher](job, seen, node, first, code, also)
    job.silence(seen, gone)
    return [rank for rank in range(job.world) if rank not in job.silent_from]


def elastic_ends(
    job: Job, time: float, node: int, first: int, code: int, also: Sequence[tuple[int, int]]
) -> Iterable[int]:
    """Let torchrun's agent stop the other processes of its node and report (multiprocessing/errors/__init__.py)."""
    others = dict(also)
    alive = [rank for rank in job.on(node) if rank not in others and rank != first]
    for rank in alive:
        agent_says(job, time, node, "elastic.closing", "W", pid=job.pids[rank], signal="SIGTERM")
    fields = {"code": code, "local": job.local(first), "pid": job.pids[first], "python": PYTHON}
    agent_says(job, time + 1, node, "elastic.failed", **fields)
    trace = "elastic.trace_accelerate" if job.launcher == "accelerate" else "elastic.trace"
    lines = printed(trace, venv=VENV, site=SITE, **TRACE_LINES[job.torch])
    lines += ["=" * 60, f"{job.script} FAILED", "-" * 60, "Failures:"]
    order = sorted(others, key=job.local)
    for index, rank in enumerate(order, 1):
        lines += failure(job, time, index, rank, others[rank])
    lines += [] if order else ["  <NO_OTHER_FAILURES>"]
    lines += ["-" * 60, "Root Cause (first observed failure):", *failure(job, time, 0, first, code), "=" * 60]
    job.put(time + 1.1, "agent", node, lines)
    return job.on(node)


def failure(job: Job, time: float, index: int, rank: int, code: int) -> list[str]:
    """Write one failure of torchrun's account."""
    signal = SIGNALS.get(-code, ("", ""))[0]
    when, text = job.recorded.get(rank, (time, [])) if code == 1 else (time, [])
    folder = f"/tmp/torchelastic_k3x/{job.number}_x4k2v9/attempt_{job.attempt}/{job.local(rank)}"
    trace = "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"
    fields = {
        "index": index,
        "time": f"{job.when(when, rank):%Y-%m-%d_%H:%M:%S}",
        "file": f"{folder}/error.json" if text else "<N/A>",
        "host": job.host(rank),
        "rank": rank,
        "local": job.local(rank),
        "code": f"{code:<2d}",
        "pid": job.pids[rank],
        "trace": f"Signal {-code} ({signal}) received by PID {job.pids[rank]}" if signal else trace,
    }
    if text:
        fields["trace"] = text[0]
    return printed("elastic.failure", **fields) + text[1:]


def deepspeed_ends(
    job: Job, time: float, node: int, first: int, code: int, also: Sequence[tuple[int, int]]
) -> Iterable[int]:
    """Let DeepSpeed's launcher kill the processes of its node; pdsh tells of its end."""
    stamp = ds_stamp(job, time, node)
    if code == 0:
        job.put(time, "agent", node, printed("ds.success", stamp=stamp, pid=job.pids[first]))
        return [first]
    for rank in job.on(node):
        job.put(time, "agent", node, printed("ds.killing", stamp=stamp, pid=job.pids[rank]))
    fields = {"stamp": stamp, "python": PYTHON, "script": job.script, "local": job.local(first), "code": code}
    job.put(time + 1, "agent", node, printed("ds.exits", **fields))
    job.put(time + 2, "driver", 0, printed("ds.pdsh", first=job.hosts[0], host=job.hosts[node], code=code & 255))
    return job.on(node)


def srun_ends(
    job: Job, time: float, node: int, first: int, code: int, also: Sequence[tuple[int, int]]
) -> Iterable[int]:
    """Let srun tell of the tasks that ended; the others live on (no --kill-on-bad-exit)."""
    for rank, its in ((first, code), *also):
        if its > 0:
            job.put(time, "driver", 0, printed("srun.exited", host=job.host(rank), tasks=f"task {rank}", code=its))
        elif its < 0:
            core = " (core dumped)" if its in (-6, -11) else ""
            signal = SIGNALS[-its][1] + core
            job.put(
                time, "driver", 0, printed("srun.signalled", host=job.host(rank), tasks=f"task {rank}", signal=signal)
            )
    return [first, *(rank for rank, _ in also)]


def tasks(ranks: Sequence[int]) -> str:
    """Spell tasks as srun does (_task_array_to_string: a host list without names)."""
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and runs[-1][1] == rank - 1:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    spelt = ",".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)
    return f"task{'s' if len(ranks) > 1 else ''} {spelt}"


def mpirun_ends(
    job: Job, time: float, node: int, first: int, code: int, also: Sequence[tuple[int, int]]
) -> Iterable[int]:
    """Let mpirun end the whole job, and tell of the first process that ended."""
    if code == 0:
        return [first]
    if code < 0:
        fields = {"rank": first, "pid": job.pids[first], "host": job.host(first), "number": -code}
        job.put(time + 1, "driver", 0, printed("mpirun.signalled", signal=SIGNALS[-code][1], **fields))
    else:
        job.put(time + 1, "driver", 0, printed("mpirun.exited", family=job.number % 65_536, rank=first, code=code))
    return range(job.world)


def ray_ends(job: Job, time: float, node: int, first: int, code: int, also: Sequence[tuple[int, int]]) -> Iterable[int]:
    """Let Ray Train end the run; the raylet tells of a worker that died of a signal."""
    if code == 0:
        return [first]
    if code < 0:
        names = {name: f"{job.rng.randrange(1 << 80):020x}" for name in ("id", "worker", "nodeid")}
        lines = printed("ray.died", ip=job.ips[node], pid=job.pids[first], port=10_000 + first, **names)
        job.put(time, "driver", 0, [*lines, *printed("ray.failed", pid=job.agents[0], rank=first)])
    job.put(time + 2, "driver", 0, printed("ray.train_failed", home=HOME, site=SITE))
    return range(job.world)


def collapses(job: Job, time: float, codes: Sequence[int] = (-6,)) -> None:
    """Let the rest of the job end, node by node; each launcher names a victim of its own."""
    alive = [rank for rank in range(job.world) if rank not in job.silent_from]
    for node in sorted({job.node(rank) for rank in alive}):
        here = [rank for rank in alive if job.node(rank) == node]
        if job.launcher in ("srun", "lightning"):
            job.silence(time, here)
            fields = {
                "host": job.hosts[node],
                "tasks": tasks(here),
            }
            code = job.rng.choice(codes)
            told = (
                ("srun.exited", {"code": code}) if code > 0 else ("srun.signalled", {"signal": "Aborted (core dumped)"})
            )
            job.put(time + job.rng.uniform(0.2, 6), "driver", 0, printed(told[0], **fields, **told[1]))
            continue
        victims = job.sample(here, 0.3)
        first = job.rng.choice(victims)
        ended(
            job,
            time + job.rng.uniform(0.2, 4),
            first,
            job.rng.choice(codes),
            [(rank, job.rng.choice(codes)) for rank in victims if rank != first],
        )
        if job.launcher in ("mpirun", "ray"):
            break
    if job.launcher in ("srun", "lightning"):
        cancelled(job, time + 8, " DUE TO TASK FAILURE")


def cancelled(job: Job, time: float, reason: str, what: str = "STEP") -> None:
    """Let Slurm cancel the step or the job."""
    job.put(time, "driver", 0, printed("srun.terminating", job=f"{job.number}.{job.attempt}"))
    step = f"STEP {job.number}.{job.attempt}" if what == "STEP" else f"JOB {job.number}"
    fields = {"what": step, "host": job.hosts[0], "time": f"{job.clock(time, 0):%Y-%m-%dT%H:%M:%S}", "reason": reason}
    job.put(time, "driver", 0, printed("slurmstepd.cancelled", **fields))
    job.silence(time + 0.5, range(job.world))


def told_to_stop(job: Job, time: float) -> None:
    """Let everything be ended from outside with SIGTERM."""
    for node in range(job.nodes):
        if job.launcher in ELASTIC:
            agent_says(job, time + 0.1, node, "elastic.received_signal", "W", signal="15")
            for rank in job.on(node):
                agent_says(job, time + 0.2, node, "elastic.closing", "W", pid=job.pids[rank], signal="SIGTERM")
            fields = {"pid": job.agents[node], "site": SITE, "venv": VENV}
            job.put(time + 1.2, "agent", node, printed("elastic.signal", **fields))
        elif job.launcher == "deepspeed":
            stamp = ds_stamp(job, time, node)
            for rank in job.on(node):
                job.put(time + 0.1, "agent", node, printed("ds.killing", stamp=stamp, pid=job.pids[rank]))
    if job.launcher in ("srun", "lightning"):
        for node in range(job.nodes):
            lines = printed("srun.signalled", host=job.hosts[node], tasks=tasks(job.on(node)), signal="Terminated")
            job.put(time + 1 + job.rng.random(), "driver", 0, lines)
    job.silence(time + 0.5, range(job.world))
