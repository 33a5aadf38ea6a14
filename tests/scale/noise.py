"""What a job prints while all is well: start-up, steps, warnings that mean nothing."""

from __future__ import annotations

from tests.scale.job import SITE, Job, Stream
from tests.scale.lines import printed
from tests.scale.prints import c10

HARMLESS = printed("healthy.warnings", site=SITE)
STEPS = {"megatron": "step.megatron", "hf": "step.hf", "titan": "step.titan", "tqdm": "step.tqdm"}


def starts(job: Job, time: float) -> float:
    """Let all ranks start; returns the time of the first step."""
    for rank in range(job.world):
        if job.launcher == "lightning":
            job.say(time + 2, rank, printed("lightning.seed", rank=rank))
            banner = printed("lightning.banner", rank=rank, member=rank + 1, world=job.world)
            job.say(time + 4 + job.rng.random(), rank, banner)
        if job.local(rank) == 0 and job.rng.random() < 0.5:
            lines = c10(job, time + 4, rank, "socket.ipv6", "W", master=job.hosts[0])
            job.say(time + 4, rank, [line.partition("]:")[2] if line.startswith("[rank") else line for line in lines])
        if rank == 0 or job.rng.random() < 0.15:
            job.say(time + 5 + job.rng.random(), rank, job.rng.choice(HARMLESS))
    for rank in sorted({0, *(node * job.per_node for node in range(job.nodes)), *job.sample(range(job.world), 0.1)}):
        communicator(job, time + 9, rank)
    hello = f"world size {job.world}, {job.nodes} nodes, " + (
        "from step 0" if not job.step else f"resumed at {job.step}"
    )
    job.say(time + 16, 0, f"{job.when(time + 16, 0):%Y-%m-%d %H:%M:%S,000} - trainer - INFO - {hello}", "stdout")
    return time + 18


def communicator(job: Job, time: float, rank: int) -> None:
    """Let NCCL tell of a new communicator, as with NCCL_DEBUG=INFO."""
    fields = {
        "rank": rank,
        "world": job.world,
        "local": job.local(rank),
        "ip": job.ips[job.node(rank)],
        "comm": f"55{job.rng.randrange(1 << 40):010x}",
        "bus": job.bus(rank)[5:].replace(":", "").lstrip("0") + "0",
        "id": f"{job.number * 7919:x}",
        "peer": (rank + job.per_node) % job.world,
        "channel": job.rng.randrange(16),
    }
    names = ("nccl.bootstrap", "nccl.network", "nccl.channel", "nccl.rings", "nccl.trees", "nccl.init")
    for index, name in enumerate(names):
        job.info(time + index * 0.3, rank, printed(name, job.nccl, **fields))


def runs(job: Job, time: float, steps: int = 30, *, seconds: float = 1.9) -> float:
    """Let the job make steps; returns the time at which the last one ended."""
    for _ in range(steps):
        took = seconds * job.rng.uniform(0.97, 1.04)
        time += took
        job.step += 1
        job.seq += 31
        report(job, time, took)
        for rank in range(job.world):
            if job.rng.random() < 0.02:
                job.say(time - took * job.rng.random() * 0.8, rank, job.rng.choice(HARMLESS))
            elif job.rng.random() < 0.02:
                text = f"[rank {rank}] opened shard {job.rng.randrange(4096):05d} of 04096"
                job.say(time, rank, f"{job.when(time, rank):%Y-%m-%d %H:%M:%S,000} - data - INFO - {text}", "stdout")
    return time


def report(job: Job, time: float, took: float) -> None:
    """Let the ranks that report a step do so, in the style of the job's framework."""
    step, loss = job.step, 2 + 8 / (1 + job.step / 40)
    if job.style == "logging":
        for rank in range(job.world) if step % 5 == 0 else (0,):
            when = f"{job.when(time, rank):%Y-%m-%d %H:%M:%S,%f}"[:-3]
            text = f"[rank {rank}] step {step} loss {loss:.4f} step_time {took:.2f}s"
            job.say(time + job.rng.random() * 0.1, rank, f"{when} - trainer - INFO - {text}", "stdout")
        return
    rank = job.world - 1 if job.style == "megatron" else 0
    fields = {
        "stamp": f"{job.when(time, rank):%Y-%m-%d %H:%M:%S}",
        "step": step,
        "samples": step * job.world,
        "batch": job.world,
        "took": took,
        "millis": took * 1000,
        "loss": loss,
        "norm": loss / 9,
        "epoch": step / 4000,
        "tps": 8192 / took,
        "percent": step * 100 // 4000,
        "bar": "█" * (step // 400),
        "spent": f"{int(time) // 60:02d}:{int(time) % 60:02d}",
    }
    stream: Stream = "stderr" if job.style == "tqdm" else "stdout"
    job.say(time, rank, printed(STEPS[job.style], "99", **fields), stream)


def note(job: Job, time: float, rank: int, text: str) -> None:
    """Let the training loop of a rank log a line."""
    when = f"{job.when(time, rank):%Y-%m-%d %H:%M:%S,%f}"[:-3]
    job.say(time, rank, f"{when} - trainer - INFO - [rank {rank}] {text}", "stdout")


def throttled_step(job: Job, time: float, rank: int, factor: float) -> None:
    """Let the ranks log how long they computed and waited in a step in which one of them was throttled."""
    thermal = f"SM clock {1980 / factor:.0f} MHz, HW thermal slowdown active"
    note(job, time + 0.1, rank, f"step {job.step} compute {1700 * factor:.0f} ms, wait 11 ms, {thermal}")
    for peer in job.sample(job.others(rank), 0.1):
        waits = f"step {job.step} compute 1692 ms, wait {1700 * (factor - 1):.0f} ms, SM clock 1980 MHz"
        note(job, time + 0.1, peer, waits)
