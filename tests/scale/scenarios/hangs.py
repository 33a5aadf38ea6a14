"""No rank fails; some wait in a collective until they are stopped, or for ever."""

from __future__ import annotations

from tests.scale.job import SITE, Job
from tests.scale.label import Cause, Label
from tests.scale.launchers import cancelled, collapses, ended, launched
from tests.scale.layouts import FORMS
from tests.scale.lines import printed
from tests.scale.noise import note, runs, throttled_step
from tests.scale.prints import Collective, c10, group_name, heard_of_dump, raised, raised_text, timed_out
from tests.scale.scenarios.registry import SURVIVING, orphaned, scenario, under_way, wait_and_fall

WATCHDOG = ("dist-nccl-watchdog-timeout",)
MISMATCH = ("dist-mismatched-collectives",)
ONE_FILE_PER_RANK = ("torchrun/rank", "torchrun/tree", "srun/rank", "lightning/rank", "srun/label", "torchrun/tee")


@scenario(*SURVIVING, only=ONE_FILE_PER_RANK)
def one_rank_never_comes(job: Job) -> Label:
    """A rank stops printing; all others time out in the collective that it does not enter."""
    job.style = "logging"
    time = under_way(job)
    rank = job.any_rank()
    job.silence(time + 0.1, [rank])
    wait_and_fall(job, time + 0.5, job.others(rank), Collective(job.seq + 5), all_print=True)
    expect = (*WATCHDOG, "STALLED")
    return Label(
        what=f"Rank {rank} does not come to a collective; why, the log does not say.",
        cause=Cause(expect, rank),
        scope=("rank",),
    )


def differs(job: Job, usual: Collective, other: Collective, what: str, expect: tuple[str, ...]) -> Label:
    """Let one rank wait in another collective than the rest."""
    time = under_way(job)
    rank = job.any_rank()
    limit = job.limit
    for peer in range(job.world):
        late = job.rng.uniform(0.05, 1.3)
        it = other if peer == rank else usual
        lines = timed_out(job, time + limit + late, peer, it, limit + late * 0.05, full=job.rng.random() < 0.1)
        job.say(time + limit + late, peer, lines)
    collapses(job, time + limit + 2)
    shown = (f"OpType={other.op}, NumelIn={other.numel},",)
    return Label(what=what.format(rank=rank), cause=Cause(expect, rank), scope=("rank",), shown=shown)


@scenario()
def other_operation_on_one_rank(job: Job) -> Label:
    usual = Collective(job.seq + 935, "ALLREDUCE", 8192)
    other = Collective(job.seq + 935, "_ALLGATHER_BASE", 2048, 2048 * job.world, ahead=0)
    what = "Rank {rank} leaves a small all-reduce out and is in the all-gather that follows."
    return differs(job, usual, other, what, (*MISMATCH, "ddp-rank-dependent-branch-hang"))


@scenario(only=[form for form in FORMS if form != "ray/folded"])  # it drops lines that differ by numbers alone
def other_size_on_one_rank(job: Job) -> Label:
    usual = Collective(job.seq + 935, "ALLGATHER", 4096, 4096 * job.world)
    other = Collective(job.seq + 935, "ALLGATHER", 3712, 3712 * job.world)
    expect = ("dist-collective-unequal-shapes", *MISMATCH)
    return differs(job, usual, other, "Rank {rank} gathers a tensor of another length.", expect)


@scenario(*SURVIVING)
def other_operation_with_the_head_cut_off(job: Job) -> Label:
    """Only the end of the log is there: how many ranks there are, it does not say."""
    label = other_operation_on_one_rank(job)
    began = min(event.time for event in job.events if "Watchdog caught" in event.text)
    job.kept, job.torn = (began - 1, float("inf")), frozenset({"tail"})
    return label


@scenario("torchrun", "accelerate", "srun", "lightning", "deepspeed", "mpirun", "k8s")
def one_rank_ends_with_0(job: Job) -> Label:
    """A rank has fewer batches and leaves; the others wait for it."""
    time = under_way(job)
    rank = job.any_rank(above=1)
    note(job, time + 0.2, rank, f"data exhausted after {job.step} steps, leaving the training loop")
    note(job, time + 0.4, rank, "done, bye")
    if job.launcher == "deepspeed":
        ended(job, time + 1, rank, 0)
    else:
        job.silence(time + 1, [rank])
    waiting = job.others(rank)
    wait_and_fall(job, time + 0.5, waiting, Collective(job.seq + 5), all_print=job.rng.random() < 0.5)
    expect = ("dist-rank-exits-early-exit-code-0", "data-uneven-batches-hang")
    return Label(
        what=f"Rank {rank} runs out of batches and ends with 0; the rest waits.",
        cause=Cause(expect, rank),
        scope=("rank",),
        shown=("data exhausted after",),
    )


@scenario(*SURVIVING, only=ONE_FILE_PER_RANK)
def slow_rank_then_time_outs(job: Job) -> Label:
    """A GPU throttles more and more; at last the others do not wait any longer."""
    job.style = "logging"
    time = under_way(job, 15)
    rank = job.any_rank()
    for factor in (1.6, 3, 9, 30):
        time = runs(job, time, 5, seconds=1.9 * factor)
        throttled_step(job, time, rank, factor)
    usual, late = Collective(job.seq + 9), Collective(job.seq + 8, ahead=0)
    limit = job.limit
    for peer in job.others(rank):
        x = time + limit + job.rng.uniform(0.05, 1.3)
        job.say(x, peer, timed_out(job, x, peer, usual, limit + 0.06))
    x = time + limit + 1.4
    job.say(x, rank, timed_out(job, x, rank, late, limit + 0.2))
    collapses(job, time + limit + 2)
    expect = ("gpu-straggler-thermal", "nccl-multinode-straggler")
    return Label(
        what=f"The GPU of rank {rank} is throttled until the others time out.",
        cause=Cause(expect, rank),
        scope=("rank",),
        shown=("HW thermal slowdown active",),
    )


@scenario()
def rank0_saves_too_long(job: Job) -> Label:
    """Rank 0 writes a checkpoint to slow storage while the others wait in a barrier."""
    time = under_way(job)
    note(job, time + 0.4, 0, f"saving checkpoint to /mnt/ckpt/step_{job.step} ...")
    for part in range(1, 14):
        note(job, time + part * 43, 0, f"wrote shard {part:02d} of 48 in {42 + job.rng.random():.1f} s")
    what = Collective(job.seq + 1, "ALLREDUCE", 1, ahead=0)
    wait_and_fall(job, time + 0.6, job.others(0), what, all_print=True)
    expect = ("dist-rank0-long-work-timeout", "checkpoint-slow-storage-collective-timeout")
    return Label(
        what="Rank 0 saves for longer than the others' barrier bears.",
        cause=Cause(expect, 0),
        scope=("rank",),
        shown=("wrote shard 13 of 48",),
    )


@scenario(*SURVIVING, since="2.3")
def heartbeat_kills_one_rank(job: Job) -> Label:
    """The watchdog thread of a rank is stuck behind the GIL; its monitor ends the process."""
    time = under_way(job)
    rank = job.any_rank(above=1)
    seconds = 480 if job.since("2.5") else 600
    job.limit = 600 if job.since("2.5") else 1800  # the monitor is faster than the others' time-outs
    x = time + seconds
    fields = {"pg": group_name(job, rank), "seconds": seconds, "works": job.rng.randrange(20, 200)}
    lines = c10(job, x, rank, "pg.heartbeat", **fields) + c10(job, x, rank, "pg.preparing_dump", **fields)
    job.say(x, rank, lines)
    job.say(x + 60, rank, c10(job, x + 60, rank, "pg.heartbeat_fatal", "F", **fields))
    orphaned(job, x + 61, [rank], first=rank, code=-6, since=time + 0.2)
    expect = ("dist-heartbeat-monitor-kill",)
    return Label(
        what=f"The heartbeat monitor ends rank {rank}, whose watchdog stands still.",
        cause=Cause(expect, rank),
        scope=("rank",),
        shown=("watchdog got stuck for",),
    )


@scenario(*SURVIVING, since="2.5")
def desync_in_subgroups(job: Job) -> Label:
    """Tensor groups of 8 within a node, data groups across nodes: a rank that stays away holds up both."""
    time = under_way(job)
    rank = job.any_rank()
    tensor, data = job.seq + 40, job.seq + 11
    limit, node = job.limit, job.node(rank)
    for peer in job.others(rank):
        late = job.rng.uniform(0.05, 1.4)
        local = job.local(peer)
        if job.node(peer) == node:
            guid = f"{3 + job.nodes + node}(TENSOR_MODEL_PARALLEL_GROUP)"
            what = Collective(tensor, "ALLREDUCE", 33_554_432, 0, guid, 3, local, ahead=1)
        elif local == job.local(rank):
            guid = f"{3 + local}(DATA_PARALLEL_GROUP)"
            what = Collective(
                data, "_REDUCE_SCATTER_BASE", 16_777_216, 16_777_216 // job.nodes, guid, 2, job.node(peer), ahead=0
            )
        else:
            continue
        job.say(time + limit + late, peer, timed_out(job, time + limit + late, peer, what, limit + late * 0.05))
    waiting = [peer for peer in range(job.world) if job.node(peer) != node and job.local(peer) != job.local(rank)]
    for peer in waiting:
        x = time + limit + job.rng.uniform(1.2, 2.2)
        job.say(x, peer, heard_of_dump(job, x, peer, next(other for other in job.on(node) if other != rank)))
    job.silence(time + 0.1, [rank])
    collapses(job, time + limit + 3)
    expect = (*WATCHDOG, "STALLED")
    return Label(
        what=f"Rank {rank} stays away from its tensor and its data group.", cause=Cause(expect, rank), scope=("rank",)
    )


@scenario("srun", "lightning", since="2.4")
def nodes_missing_at_the_start(job: Job) -> Label:
    """One node never starts its ranks; the store waits for them in vain."""
    launched(job, 0)
    missing = job.rng.randrange(1, job.nodes)
    job.silence(-1, job.on(missing))
    job.events = [event for event in job.events if not (event.kind == "agent" and event.index == missing)]
    inner = (
        "/opt/venv/lib/python3.11/site-packages/torch/distributed/rendezvous.py",
        189,
        "_create_c10d_store",
        "return TCPStore(",
    )
    joined = job.world - job.per_node
    error = printed("store.clients", job.torch, seconds=1800, joined=joined, world=job.world)[0]
    raised_text(job, 1805, 0, error, inner)
    ended(job, 1806, 0, 1)
    lost = f"torch.distributed.DistNetworkError: {printed('store.lost', job.torch)[0]}"
    for rank in [rank for rank in job.others(0) if rank not in job.on(missing)]:
        x = 1806 + job.rng.uniform(0.2, 1)
        raised_text(
            job,
            x,
            rank,
            lost,
            (
                "/opt/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py",
                1710,
                "init_process_group",
                "default_pg, _ = _new_process_group_helper(",
            ),
        )
    for rank in [rank for rank in job.others(0) if rank not in job.on(missing)]:
        ended(job, 1808, rank, 1)
    cancelled(job, 1812, " DUE TO TASK FAILURE")
    what = f"Node {job.hosts[missing]} never starts its ranks."
    expect = ("dist-tcpstore-waiting-for-clients-timeout",)
    return Label(
        what=what,
        cause=Cause(expect),
        scope=("node", "ranks", "job", "undetermined", "all_ranks"),
        guilty=tuple(job.on(missing)),
    )


@scenario(
    *SURVIVING, only=("torchrun/rank", "torchrun/tree", "srun/rank", "lightning/rank", "torchrun/node", "k8s/pod")
)
def storage_hangs_under_one_rank(job: Job) -> Label:
    """A read from NFS does not return on one rank; the kernel says which process is blocked."""
    job.style = "logging"
    time = under_way(job)
    rank = job.any_rank()
    job.silence(time + 0.1, [rank])
    job.kernel(time + 180, job.node(rank), printed("kernel.nfs", pid=job.pids[rank]))
    wait_and_fall(job, time + 0.5, job.others(rank), Collective(job.seq + 5), all_print=True)
    expect = ("data-rank-stuck-in-storage-read",)
    return Label(what=f"A read of rank {rank} hangs in the kernel.", cause=Cause(expect, rank), scope=("rank", "node"))


@scenario("torchrun", "accelerate", "srun", "lightning", "deepspeed", "k8s")
def desync_report_names_the_rank(job: Job) -> Label:
    """TORCH_NCCL_DESYNC_DEBUG: rank 0 reports who did not come (until 2.7)."""
    time = under_way(job)
    rank = job.any_rank(above=1)
    what, limit = Collective(job.seq + 5), job.limit
    job.silence(time + 0.1, [rank])
    x = time + 0.5 + limit + 1.3
    ranges = ", ".join(map(str, job.others(rank)))
    fields = {
        "pg": group_name(job, 0),
        "rank": rank,
        "done": what.seq - 1,
        "seq": what.seq,
        "others": ranges,
        "op": what.op,
    }
    job.say(x, 0, c10(job, x, 0, "pg.desync", **fields))
    wait_and_fall(job, time + 0.5, job.others(rank), what, all_print=True)
    expect = ("dist-mismatched-collectives", *WATCHDOG, "STALLED")
    return Label(what=f"Rank {rank} stays away; the desync report says so.", cause=Cause(expect, rank), scope=("rank",))


@scenario(*SURVIVING)
def monitored_barrier_names_the_rank(job: Job) -> Label:
    """Rank 0 waits in monitored_barrier for a rank that does not come."""
    time = under_way(job)
    rank = job.any_rank(above=1)
    job.silence(time + 0.1, [rank])
    millis = 300_000
    x = time + millis / 1000
    root = "/pytorch" if job.since("2.6") else ".."
    job.say(x, 0, printed("py.monitored_barrier", rank=rank, millis=millis))
    inner = (
        f"{SITE}/torch/distributed/distributed_c10d.py",
        4127,
        "monitored_barrier",
        "return group_to_use.monitored_barrier(",
    )
    raised(job, x + 0.1, 0, "py.monitored_barrier_error", inner, rank=rank, millis=millis, root=root)
    hit = job.sample(job.others(0, rank), 0.4)
    for peer in hit:
        fields = {"rank": peer, "ip": job.ips[0], "port": 41_000 + peer, "root": root}
        raised(job, x + 0.3 + job.rng.random(), peer, "py.monitored_barrier_other", inner, **fields)
    ended(job, x + 0.6, 0, 1)
    for node in sorted({job.node(peer) for peer in hit if peer not in job.silent_from}):
        here = [(peer, 1) for peer in hit if job.node(peer) == node]
        ended(job, x + 2, here[0][0], 1, here[1:])
    collapses(job, x + 8, (1,))
    expect = ("dist-monitored-barrier-missing-ranks",)
    what, shown = f"Rank {rank} does not come to a monitored barrier.", (f"Rank {rank} failed to pass",)
    return Label(what=what, cause=Cause(expect, rank), scope=("rank",), shown=shown)


@scenario(
    "torchrun",
    "accelerate",
    "k8s",
    only=("torchrun/node", "torchrun/nccl", "torchrun/tree", "accelerate/node", "k8s/pod"),
)
def log_of_the_guilty_node_is_missing(job: Job) -> Label:
    """Rank k fails on a node whose log nobody has: the others only show that they waited."""
    time = under_way(job)
    rank = job.any_rank(above=job.per_node)
    ended(job, time + 0.4, rank, 1)
    wait_and_fall(job, time + 0.3, job.others(rank), Collective(job.seq + 3), all_print=True)
    job.hidden = (job.node(rank),)
    what = f"Rank {rank} fails on {job.host(rank)}, whose log is not there."
    cause = Cause((*WATCHDOG, "STALLED"))
    return Label(what=what, cause=cause, guilty=tuple(job.on(job.node(rank))))
