"""Many ranks fail at once: all alike, those of one node, or all but in their own words."""

from __future__ import annotations

from tests.scale.job import HOME, SITE, Job
from tests.scale.label import Cause, Label
from tests.scale.launchers import ended, launched
from tests.scale.prints import ALL_REDUCE, Frame, main_frames, raised, step_frame, traceback
from tests.scale.scenarios.crashes import runs_out_of_memory
from tests.scale.scenarios.registry import EACH_SHOWN, orphaned, scenario, under_way


def all_end(job: Job, time: float) -> None:
    """Let every rank end with 1; the launcher of each node names one of them."""
    for node in range(job.nodes):
        here = [(rank, 1) for rank in job.on(node)]
        job.rng.shuffle(here)
        ended(job, time, here[0][0], 1, here[1:])
        if job.launcher == "mpirun":
            break


@scenario(*EACH_SHOWN)
def same_error_on_all_ranks(job: Job) -> Label:
    """A mistake of the configuration; the tracebacks of all ranks run into one another."""
    launched(job, 0)
    missing = "FileNotFoundError: [Errno 2] No such file or directory: '/mnt/data/mix_v4/index.json'"
    dtypes = "ValueError: Must flatten tensors with uniform dtype but got torch.bfloat16 and torch.float32"
    path, error, expect = job.rng.choice(
        (
            ("setup.py", missing, "data-file-or-checkpoint-path-not-found"),
            ("wrap.py", dtypes, "fsdp-uniform-dtype"),
        )
    )
    inner: Frame = (f"{HOME}/{path}", 41, "prepare", "state = build(config)")
    for rank in range(job.world):
        lines = traceback(job, rank, main_frames(job, inner), [error])
        time = 20 + job.rng.uniform(0, 0.6)
        for line in lines:
            time += job.rng.uniform(0, 0.02)
            job.say(time, rank, line)
    all_end(job, 22)
    return Label(
        what="Every rank raises the same error at start-up.", cause=Cause((expect,)), scope=("all_ranks", "job")
    )


@scenario(*EACH_SHOWN)
def loss_scale_at_minimum_everywhere(job: Job) -> Label:
    """Every rank raises the same in the same step: no rank began it."""
    time = under_way(job)
    inner: Frame = (f"{SITE}/deepspeed/runtime/fp16/loss_scaler.py", 176, "update_scale", "raise Exception(")
    for rank in range(job.world):
        raised(
            job,
            time + 0.3 + job.rng.random() * 0.5,
            rank,
            "ds.loss_scale",
            step_frame(job, "engine.step()", 155),
            inner,
        )
    all_end(job, time + 1)
    expect = ("numerics-loss-scale-at-minimum",)
    return Label(
        what="Every rank finds its loss scale at the minimum.", cause=Cause(expect), scope=("all_ranks", "job")
    )


@scenario(*EACH_SHOWN)
def no_space_on_one_node(job: Job) -> Label:
    """The ranks of one node cannot write their shards: its disk is full."""
    time = under_way(job)
    node = job.rng.randrange(job.nodes)
    inner: Frame = (f"{HOME}/checkpoint.py", 88, "write", "torch.save(shard, path)")
    for rank in job.on(node):
        x = time + 0.4 + job.rng.random() * 0.4
        raised(
            job,
            x,
            rank,
            "py.no_space",
            step_frame(job, "checkpoint.write(state)", 181),
            inner,
            step=job.step,
            rank=rank,
        )
    first, *rest = job.rng.sample(job.on(node), job.per_node)
    orphaned(job, time + 1.2, [first], first=first, code=1, also=[(rank, 1) for rank in rest])
    what = f"The disk of {job.hosts[node]} is full; its {job.per_node} ranks cannot save."
    cause = Cause(("checkpoint-disk-full-mid-save",), None)
    return Label(what=what, cause=cause, scope=("node", "ranks"), guilty=tuple(job.on(node)))


@scenario("torchrun", "accelerate", "srun", "lightning", "deepspeed", "k8s", "mpirun")
def detail_debug_names_the_mismatch(job: Job) -> Label:
    """TORCH_DISTRIBUTED_DEBUG=DETAIL compares every collective: all ranks raise, and name one that differs."""
    time = under_way(job)
    rank = job.any_rank(above=1)
    kinds = {True: ("ALLGATHER", 2048), False: ("ALLREDUCE", 8192)}
    for peer in range(job.world):
        (op, shape), (op_other, shape_other) = kinds[peer == rank], kinds[peer != rank]
        fields = {"rank": peer, "other": rank if peer != rank else 0, "seq": job.seq + 4, "op": op, "shape": shape}
        fields |= {"op_other": op_other, "shape_other": shape_other}
        x = time + 0.5 + job.rng.random() * 0.4
        raised(job, x, peer, "py.detail_mismatch", step_frame(job, "share(stats)", 172), ALL_REDUCE, **fields)
    all_end(job, time + 1)
    expect = ("dist-mismatched-collectives", "ddp-rank-dependent-branch-hang")
    return Label(
        what=f"Rank {rank} calls another collective than the rest.",
        cause=Cause(expect, rank),
        scope=("rank",),
        shown=(f"Rank {rank} is running collective",),
    )


@scenario(*EACH_SHOWN)
def out_of_memory_on_all_ranks(job: Job) -> Label:
    """The model is too big: every rank runs out of memory in its first step."""
    launched(job, 0)
    for rank in range(job.world):
        runs_out_of_memory(job, 40 + job.rng.random() * 1.5, rank)
    all_end(job, 42)
    expect = ("cuda-oom-model-too-big", "cuda-oom-optimizer-first-step")
    return Label(what="Every rank runs out of GPU memory.", cause=Cause(expect), scope=("all_ranks", "job"))
