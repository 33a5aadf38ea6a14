"""Something outside the program fails: memory of the host, a GPU, a card, a node, the scheduler."""

from __future__ import annotations

from tests.scale.job import Job
from tests.scale.label import Cause, Label
from tests.scale.launchers import cancelled, ended, told_to_stop
from tests.scale.layouts import pod
from tests.scale.lines import at, printed
from tests.scale.prints import Collective, lost_peer, raised, remote_error, step_frame
from tests.scale.scenarios.registry import ELASTIC, SLURM, SURVIVING, orphaned, scenario, under_way, wait_and_fall

KILLED = ("host-oom-killed-exit-minus-9",)
ENDS = {-9: ("exitcode  : -9", "SIGKILL", ": Killed", "(Killed)", "return code = -9")}  # in the words of each launcher
OWN_WORD = {  # how the launcher's world calls it
    "srun": ("slurm-oom-kill-event",),
    "lightning": ("slurm-oom-kill-event",),
    "k8s": ("k8s-oomkilled",),
    "ray": ("ray-worker-killed-oom",),
}


def taken_by_the_kernel(job: Job, time: float, rank: int) -> None:
    """Let the kernel log that it killed the process of a rank."""
    rss = job.rng.randrange(180, 420) * 1024 * 1024
    fields = {
        "group": f"/slurm/uid_5021/job_{job.number}",
        "place": f"step_0/task_{job.local(rank)}",
        "leaf": "step_0",
        "pid": job.pids[rank],
        "rss": rss,
        "vm": rss * 2,
        "tables": rss // 500,
    }
    if job.launcher == "k8s":
        fields["group"] = f"/kubepods.slice/kubepods-pod{job.number:08x}_5f3e_4c01_8b7d_3a41c09be7d2.slice"
        fields["place"] = fields["leaf"] = f"cri-containerd-{job.number:064x}.scope"
    job.kernel(time, job.node(rank), printed("kernel.memcg", **fields))


@scenario()
def host_oom_kill(job: Job) -> Label:
    """The kernel kills a rank; a neighbour sees the connection go before the launcher looks, and is named first."""
    time = under_way(job)
    rank = job.any_rank(above=1)
    taken_by_the_kernel(job, time + 0.2, rank)
    job.silence(time + 0.2, [rank])
    near = [peer for peer in job.on(job.node(rank)) if peer != rank]
    blamed = job.rng.choice(near)
    if job.launcher in ("torchrun", "accelerate", "k8s") and job.rng.random() < 0.5:
        lost_peer(job, time + 0.5, blamed, rank, in_main=True)
        orphaned(job, time + 0.9, [rank], first=blamed, code=1, also=[(rank, -9)])
    else:
        orphaned(job, time + 0.3, [rank], first=rank, code=-9)
    if job.launcher in SLURM:
        job.put(time + 4, "driver", 0, printed("slurmstepd.oom", count=1, job=f"{job.number}.{job.attempt}"))
    expect = (*KILLED, *OWN_WORD.get(job.launcher, ()))
    what = f"The kernel kills rank {rank} because the memory of the job's cgroup is used up."
    shown = (f"Killed process {job.pids[rank]} ",)
    return Label(what=what, cause=Cause(expect, rank), scope=("rank", "node"), shown=shown)


@scenario("torchrun", "accelerate", "srun", "lightning", "mpirun", "deepspeed")
def killed_with_9(job: Job) -> Label:
    """A rank ends with SIGKILL, and no kernel log is there to say why."""
    time = under_way(job)
    rank = job.any_rank()
    orphaned(job, time + 0.3, [rank], first=rank, code=-9)
    return Label(
        what=f"Rank {rank} is killed with SIGKILL.", cause=Cause(KILLED, rank), scope=("rank", "node"), shown=ENDS[-9]
    )


@scenario("k8s")
def pod_oomkilled(job: Job) -> Label:
    """A pod goes over its memory limit; all its ranks die at once."""
    time = under_way(job)
    node = job.rng.randrange(1, job.nodes)
    job.silence(time + 0.2, job.on(node))
    first = job.on(node)[0]
    wait_and_fall(
        job, time + 0.5, [rank for rank in range(job.world) if job.node(rank) != node], Collective(job.seq + 3)
    )
    fields = {"pod": pod(job, node), "host": job.hosts[node], "ip": job.ips[node]}
    ended_at = job.clock(time, node)
    stamp = "{:%a, %d %b %Y %H:%M:%S} +0000"
    job.put(
        time + 900,
        "driver",
        0,
        printed("k8s.oomkilled", began=stamp.format(job.zero), ended=stamp.format(ended_at), **fields),
    )
    what = f"Pod {pod(job, node)} is OOMKilled with its ranks {first} to {job.on(node)[-1]}."
    return Label(what=what, cause=Cause(("k8s-oomkilled",)), scope=("node", "ranks"), guilty=tuple(job.on(node)))


@scenario()
def gpu_falls_off_the_bus(job: Job) -> Label:
    """Xid 79 under one rank; half of the time the rank says nothing itself."""
    time = under_way(job)
    rank = job.any_rank()
    uuid = f"{job.rng.randrange(1 << 32):08x}-5f3e-9c01-8b7d-{job.rng.randrange(1 << 48):012x}"
    job.kernel(time + 0.2, job.node(rank), printed("kernel.xid79", bus=job.bus(rank), uuid=uuid))
    shown: tuple[str, ...] = ()
    if job.launcher in SURVIVING and job.rng.random() < 0.5:
        job.silence(time + 0.2, [rank])
        wait_and_fall(job, time + 0.3, job.others(rank), Collective(job.seq + 3), all_print=True)
    else:
        shown = ("CUDA error: unspecified launch failure",)
        raised(
            job,
            time + 0.8,
            rank,
            "py.cuda_error",
            step_frame(job, "total += loss.item()", 163),
            error="unspecified launch failure",
        )
        orphaned(job, time + 1.2, [rank], first=rank, code=1)
    expect = ("gpu-xid-79-fell-off-bus",)
    what = f"The GPU of rank {rank} falls off the bus."
    return Label(what=what, cause=Cause(expect, rank), scope=("rank", "node"), shown=shown)


@scenario()
def uncontained_memory_error(job: Job) -> Label:
    """Xid 95 under one rank, with a CUDA error of that rank."""
    time = under_way(job)
    rank = job.any_rank()
    job.kernel(time + 0.2, job.node(rank), printed("kernel.xid95", bus=job.bus(rank), pid=job.pids[rank]))
    error = "uncorrectable ECC error encountered"
    raised(job, time + 0.8, rank, "py.cuda_error", step_frame(job, "torch.cuda.synchronize()", 163), error=error)
    orphaned(job, time + 1.2, [rank], first=rank, code=1)
    expect = ("gpu-xid-94-95-containment", "gpu-xid-48-dbe")
    return Label(
        what=f"The GPU of rank {rank} has an uncontained memory error.",
        cause=Cause(expect, rank),
        scope=("rank", "node"),
        shown=(f"CUDA error: {error}",),
    )


@scenario()
def node_goes_down(job: Job) -> Label:
    """A node loses power: its ranks and its launcher say nothing more; peers lose their connections."""
    time = under_way(job)
    node = job.rng.randrange(1, job.nodes)
    lost = job.on(node)
    job.events = [
        event for event in job.events if not (event.kind == "agent" and event.index == node and event.time > time - 1)
    ]
    job.silence(time - 0.2, lost)
    near = [rank for rank in range(job.world) if job.local(rank) == 0 and rank not in lost]
    for rank in job.sample(near, 0.3):
        lost_peer(job, time + 33 + job.rng.random(), rank, job.rng.choice(lost), in_main=False)
    expect: tuple[str, ...] = ("torchrun-node-lost-mid-run",)
    if job.launcher == "deepspeed":  # nobody tells of the node there: only its peers do
        expect = (*expect, "nccl-remote-error")
    if job.launcher in SLURM or (job.launcher == "torchrun" and job.rng.random() < 0.5):
        expect = ("slurm-node-fail", *expect)
        job.put(time + 64, "driver", 0, printed("srun.node_failure", host=job.hosts[node]))
    if job.launcher == "mpirun":
        fields = {"family": job.number % 65_536, "first": job.hosts[0], "node": node, "host": job.hosts[node]}
        job.put(time + 40, "driver", 0, printed("mpirun.daemon_lost", **fields))
        job.silence(time + 40, range(job.world))
        expect = ("mpi-orte-daemon-failed", *expect)
    elif job.launcher == "ray":
        job.put(
            time + 40, "driver", 0, printed("ray.node_dead", nodeid=f"{job.number * 31 + node:056x}", ip=job.ips[node])
        )
        job.silence(time + 41, range(job.world))
    else:
        if job.launcher == "k8s":
            fields = {"host": job.hosts[node], "pod": pod(job, node)}
            job.put(time + 300, "driver", 0, printed("k8s.node_lost", **fields))
            expect = (*expect, "k8s-evicted-or-deleted")
        wait_and_fall(job, time + 0.5, [rank for rank in range(job.world) if rank not in lost], Collective(job.seq + 3))
        job.events = [
            event
            for event in job.events
            if not (event.kind == "agent" and event.index == node and event.time > time - 1)
        ]
    what = f"Node {job.hosts[node]} vanishes with ranks {lost[0]} to {lost[-1]}."
    return Label(what=what, cause=Cause(expect), scope=("node",), guilty=tuple(lost))


@scenario(*SURVIVING, since="2.2")
def network_port_goes_down(job: Job) -> Label:
    """A port of a card on one node goes down: every process there tells of it, peers exceed their retries."""
    time = under_way(job)
    node = job.rng.randrange(job.nodes)
    hca = f"mlx5_{job.rng.randrange(8)}"
    job.kernel(time + 0.1, node, printed("kernel.mlx5", pci=f"0000:{job.rng.randrange(16, 99)}:00.0"))
    for rank in job.on(node):
        text = printed("nccl.port_error", job.nccl, hca=hca)[0]
        job.warn(
            time + 0.3 + job.rng.random() * 0.1, rank, "transport/net_ib.cc", at("nccl.port_error", job.nccl), text
        )
    others = [rank for rank in range(job.world) if job.node(rank) != node]
    pairs = [(rank, job.on(node)[job.local(rank)]) for rank in job.sample(others, 0.05)]
    pairs += [(rank, job.rng.choice(others)) for rank in job.on(node)[:2]]
    for rank, peer in pairs:
        fields = {
            "peer": job.ips[job.node(peer)],
            "ip": job.ips[job.node(rank)],
            "port": job.rng.randrange(32_000, 60_000),
        }
        text = printed("nccl.completion", job.nccl, status=12, vendor=129, hca=hca, **fields)[0]
        x = time + job.rng.uniform(4, 9)
        job.warn(x, rank, "transport/net_ib.cc", at("nccl.completion", job.nccl), text)
        remote_error(job, x + 0.3, rank, text, in_main=False)
    for peer_node in sorted({job.node(rank) for rank, _ in pairs}):
        here = [rank for rank, _ in pairs if job.node(rank) == peer_node]
        ended(job, time + 11, here[0], -6, [(rank, -6) for rank in here[1:]])
    rest = [rank for rank in range(job.world) if rank not in job.silent_from]
    wait_and_fall(job, time + 0.4, rest, Collective(job.seq + 3))
    expect = ("nccl-ib-retry-exceeded", "nccl-ib-async-event")
    what = f"Port {hca} of {job.hosts[node]} goes down."
    return Label(what=what, cause=Cause(expect), scope=("node", "link"), guilty=tuple(job.on(node)))


@scenario("torchrun", *SLURM)
def preempted(job: Job) -> Label:
    """Slurm takes the job off its nodes; every rank gets SIGTERM."""
    time = under_way(job)
    told_to_stop(job, time + 1)
    cancelled(job, time + 1.5, " DUE TO PREEMPTION", "JOB")
    return Label(what="Slurm preempts the job.", cause=Cause(("slurm-preempted",)), scope=("job", "all_ranks"))


@scenario("torchrun", *SLURM)
def time_limit(job: Job) -> Label:
    """The time of the job is up."""
    time = under_way(job)
    told_to_stop(job, time + 1)
    cancelled(job, time + 1.5, " DUE TO TIME LIMIT", "JOB")
    return Label(
        what="The job's time limit is reached.", cause=Cause(("slurm-time-limit",)), scope=("job", "all_ranks")
    )


@scenario(*ELASTIC)
def stopped_from_outside(job: Job) -> Label:
    """Somebody sends SIGTERM to the launchers of all nodes."""
    time = under_way(job)
    told_to_stop(job, time + 1)
    expect = ("torchrun-agent-got-sigterm",)
    return Label(what="Every launcher gets SIGTERM from outside.", cause=Cause(expect), scope=("job", "all_ranks"))
