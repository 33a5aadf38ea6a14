"""One rank fails by itself, or all fail alike."""

from __future__ import annotations

from msgspec.structs import replace

from tests.scale.job import HOME, SITE, Job
from tests.scale.label import Cause, Label
from tests.scale.launchers import collapses, ended
from tests.scale.lines import printed
from tests.scale.prints import (
    Frame,
    cuda_watchdog,
    lost_peer,
    raised,
    raised_text,
    step_frame,
    store_gone,
)
from tests.scale.scenarios.registry import ELASTIC, SURVIVING, orphaned, scenario, under_way

MLP: Frame = (
    f"{SITE}/transformers/models/llama/modeling_llama.py",
    171,
    "forward",
    "down_proj = self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))",
)


def runs_out_of_memory(job: Job, time: float, rank: int) -> None:
    """Let a rank run out of GPU memory in its forward pass."""
    want = job.rng.uniform(1.5, 6)
    fields = {
        "local": job.local(rank),
        "pid": job.pids[rank],
        "want": f"{want:.2f}",
        "free": f"{want * 0.6:.2f}",
        "used": f"{79.11 - want * 0.6:.2f}",
        "alloc": f"{76.9 - want * 0.6:.2f}",
        "idle": "1.37",
    }
    raised(job, time, rank, "py.cuda_oom", step_frame(job, "loss = model(**batch).loss"), MLP, **fields)


def bad_record(job: Job, time: float, rank: int) -> None:
    """Let a rank meet a record that its data loader cannot read."""
    error = job.rng.choice(
        (
            "KeyError: 'input_ids'",
            "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xc3 in position 4095: unexpected end of data",
            "ValueError: sample 88213 of shard 00412 has 0 tokens",
        )
    )
    kind = error.partition(":")[0]
    loader: Frame = (f"{SITE}/torch/utils/data/dataloader.py", 1344, "_process_data", "data.reraise()")
    raise_: Frame = (f"{SITE}/torch/_utils.py", 733, "reraise", "raise exception")
    fields = {"kind": kind, "error": error, "worker": job.rng.randrange(8), "site": SITE, "home": HOME}
    raised(job, time, rank, "py.worker_error", step_frame(job, "for batch in loader:", 131), loader, raise_, **fields)


OOM = ("cuda-oom-activations-long-seq", "cuda-oom-model-too-big")
DATA = ("dataloader-worker-exception",)
MEMORY, LOADER = ("CUDA out of memory",), ("in DataLoader worker process",)  # what a log says of them
OWN = ("dist-rank-local-exception-kills-job",)


@scenario()
def oom_one_rank(job: Job) -> Label:
    time = under_way(job)
    rank = job.any_rank()
    runs_out_of_memory(job, time + 0.8, rank)
    orphaned(job, time + 1.5, [rank], first=rank, code=1)
    return Label(
        what=f"Rank {rank} alone runs out of GPU memory after many steps.",
        cause=Cause(OOM, rank),
        scope=("rank",),
        shown=MEMORY,
    )


@scenario()
def data_error_one_rank(job: Job) -> Label:
    time = under_way(job)
    rank = job.any_rank()
    bad_record(job, time + 0.4, rank)
    orphaned(job, time + 1, [rank], first=rank, code=1)
    what = f"A worker of rank {rank}'s data loader raises."
    return Label(what=what, cause=Cause(DATA, rank), scope=("rank",), shown=LOADER)


@scenario()
def own_exception_one_rank(job: Job) -> Label:
    time = under_way(job)
    rank = job.any_rank()
    error = job.rng.choice(
        (
            f"AssertionError: expected 4096 tokens, got 4093 (shard 00{job.rng.randrange(100, 999)})",
            "ZeroDivisionError: division by zero",
            "ValueError: bucket boundaries must be increasing",
        )
    )
    inner: Frame = (f"{HOME}/sampling.py", 77, "rebalance", "weights = self.weights_of(counts)")
    raised_text(job, time + 0.4, rank, error, step_frame(job, "sampler.rebalance(step)", 139), inner)
    orphaned(job, time + 1, [rank], first=rank, code=1)
    what = f"The user's own code raises on rank {rank}."
    return Label(what=what, cause=Cause(OWN, rank), scope=("rank",), shown=(error,))


@scenario()
def illegal_access_one_rank(job: Job) -> Label:
    time = under_way(job)
    rank = job.any_rank()
    text = "an illegal memory access was encountered"
    if job.rng.random() < 0.5:
        cuda_watchdog(job, time + 0.3, rank, text)
    raised(job, time + 0.6, rank, "py.cuda_error", step_frame(job, "torch.cuda.synchronize()", 163), error=text)
    orphaned(job, time + 1, [rank], first=rank, code=-6 if job.rng.random() < 0.5 else 1)
    return Label(
        what=f"A kernel of rank {rank} reads where it must not.",
        cause=Cause(("cuda-illegal-memory-access",), rank),
        scope=("rank",),
        shown=(text,),
    )


@scenario()
def segfault_with_remote_errors(job: Job) -> Label:
    time = under_way(job)
    rank = job.any_rank(above=1)
    near = [peer for peer in job.others(rank) if abs(job.node(peer) - job.node(rank)) <= 1][:12]
    for peer in job.sample(near, 0.6):
        lost_peer(job, time + job.rng.uniform(0.6, 1.5), peer, rank, in_main=job.rng.random() < 0.5)
    if job.launcher == "ray":
        job.say(
            time + 0.45, rank, printed("ray.segfault", time=1_757_379_859, pc=f"7f{job.rng.randrange(1 << 40):010x}")
        )
    elif job.rng.random() < 0.3:
        job.say(
            time + 0.45,
            rank,
            printed("py.segfault", thread=f"7f{job.rng.randrange(1 << 40):010x}", home=HOME, script=job.script),
        )
    orphaned(job, time + 0.5, [rank], first=rank, code=-11)
    expect = ("torchrun-exit-minus-11-segfault",)
    return Label(
        what=f"Rank {rank} crashes in native code; its peers report remote errors.",
        cause=Cause(expect, rank),
        scope=("rank",),
        shown=("SIGSEGV", "Segmentation fault", "return code = -11"),
    )


@scenario(*ELASTIC)
def rank0_dies_and_the_store_with_it(job: Job) -> Label:
    time = under_way(job)
    inner: Frame = (f"{HOME}/report.py", 31, "write", "self.file.write(self.row(metrics))")
    raised_text(job, time + 0.4, 0, "TypeError: unsupported format string passed to NoneType.__format__",
                step_frame(job, "report.write(metrics)", 176), inner)  # fmt: skip
    orphaned(job, time + 1, [0], first=0, code=1)
    for rank in job.sample(job.others(0), 0.5):
        store_gone(job, time + job.rng.uniform(4, 20), rank)
    return Label(
        what="Rank 0 raises while it writes a report; the store ends with it.",
        cause=Cause(OWN, 0),
        scope=("rank",),
        shown=("NoneType.__format__",),
    )


@scenario()
def nan_on_one_rank(job: Job) -> Label:
    time = under_way(job)
    rank = job.any_rank()
    inner: Frame = (
        f"{SITE}/megatron/core/rerun_state_machine.py",
        520,
        "validate_result",
        "raise RuntimeError(full_message)",
    )
    fields = {"rank": rank, "host": job.host(rank), "local": job.local(rank), "step": job.step + 1}
    raised(
        job, time + 0.4, rank, "megatron.nan", step_frame(job, "losses = forward_backward(batch)", 151), inner, **fields
    )
    orphaned(job, time + 1, [rank], first=rank, code=1)
    expect = ("megatron-rerun-nan-grad",)
    what, shown = f"Rank {rank} finds a NaN in its loss and stops.", (f"Rank {rank}, node",)
    return Label(what=what, cause=Cause(expect, rank), scope=("rank",), shown=shown)


@scenario("torchrun", only=("torchrun/node", "torchrun/rank", "torchrun/tree", "torchrun/tee"))
def root_cause_of_a_wrong_clock(job: Job) -> Label:
    """Clocks are minutes apart: the block with the earliest time is a victim's."""
    job.skew = [job.rng.uniform(-240, -120) if node % 2 else job.rng.uniform(60, 120) for node in range(job.nodes)]
    time = under_way(job)
    rank = job.rng.choice([rank for rank in range(job.world) if job.node(rank) % 2 == 0])
    bad_record(job, time + 0.4, rank)
    ended(job, time + 0.6, rank, 1)
    early = [peer for peer in range(job.world) if job.node(peer) % 2]
    hit = job.sample(early, 0.2)
    for peer in hit:
        lost_peer(job, time + job.rng.uniform(1, 2), peer, rank, in_main=True)
    for node in sorted({job.node(peer) for peer in hit}):
        here = [(peer, 1) for peer in hit if job.node(peer) == node]
        ended(job, time + 3, here[0][0], 1, here[1:])
    collapses(job, time + 30, (1, -6))
    return Label(
        what=f"A worker of rank {rank}'s loader raises; victims' clocks are minutes early.",
        cause=Cause(DATA, rank),
        scope=("rank",),
        shown=LOADER,
    )


@scenario(*SURVIVING, since="2.2")
def nodes_in_different_time_zones(job: Job) -> Label:
    job.skew = [job.rng.choice((0.0, -3600.0 * 7, 3600.0 * 2)) for _ in range(job.nodes)]
    label = oom_one_rank(job)
    return replace(label, what=f"Rank {label.cause.rank} alone runs out of GPU memory; clocks differ by hours.")


@scenario(*SURVIVING)
def two_incidents(job: Job) -> Label:
    """One rank runs out of memory; 50 s later a GPU of another node has an uncorrectable error."""
    time = under_way(job)
    first = job.any_rank()
    second = job.rng.choice([rank for rank in range(job.world) if job.node(rank) != job.node(first)])
    runs_out_of_memory(job, time + 0.8, first)
    job.kernel(time + 50.9, job.node(second), printed("kernel.xid95", bus=job.bus(second), pid=job.pids[second]))
    error = "uncorrectable ECC error encountered"
    raised(job, time + 51, second, "py.cuda_error", step_frame(job, "torch.cuda.synchronize()", 163), error=error)
    ended(job, time + 1.2, first, 1)
    orphaned(job, time + 52, [second], first=second, code=1, since=time + 1)
    what = f"Rank {first} runs out of GPU memory; 50 s later the GPU of rank {second} has an uncontained error."
    return Label(
        what=what,
        cause=Cause(OOM, first),
        also=Cause(("gpu-xid-94-95-containment",), second),
        guilty=(second,),
        shown=MEMORY,
    )


@scenario(*SURVIVING)
def oom_with_the_head_cut_off(job: Job) -> Label:
    label = oom_one_rank(job)
    began = next(event.time for event in job.events if "out of memory" in event.text)
    job.kept, job.torn = (began - 25, float("inf")), frozenset({"head"})
    return label


@scenario(*SURVIVING)
def oom_with_the_tail_cut_off(job: Job) -> Label:
    label = oom_one_rank(job)
    began = next(event.time for event in job.events if "out of memory" in event.text)
    job.kept, job.torn = (float("-inf"), began + job.limit + 0.9), frozenset({"tail"})
    return label


@scenario()
def loader_worker_killed(job: Job) -> Label:
    """The kernel kills a data loader's worker; its rank raises."""
    time = under_way(job)
    rank = job.any_rank()
    worker = job.pids[rank] + 4000
    job.kernel(
        time + 0.2, job.node(rank), printed("kernel.worker", worker=worker, rss=job.rng.randrange(1 << 24, 1 << 26))
    )
    loader: Frame = (f"{SITE}/torch/utils/data/dataloader.py", 1243, "_try_get_data", "data = self._data_queue.get()")
    raised(
        job, time + 0.6, rank, "py.worker_killed", step_frame(job, "for batch in loader:", 131), loader, worker=worker
    )
    orphaned(job, time + 1, [rank], first=rank, code=1)
    expect = ("dataloader-worker-killed", "host-oom-killed-exit-minus-9")
    return Label(
        what=f"The kernel kills a loader's worker of rank {rank}.",
        cause=Cause(expect, rank),
        scope=("rank", "node"),
        shown=(f"DataLoader worker (pid {worker}) is killed",),
    )


@scenario()
def loader_worker_bus_error(job: Job) -> Label:
    """Shared memory of a node is full; the first rank whose worker writes there dies."""
    time = under_way(job)
    rank = job.any_rank()
    job.say(time + 0.3, rank, printed("py.worker_bus"))
    loader: Frame = (f"{SITE}/torch/utils/data/dataloader.py", 1243, "_try_get_data", "data = self._data_queue.get()")
    worker = job.pids[rank] + 4000
    raised(
        job,
        time + 0.6,
        rank,
        "py.worker_bus_error",
        step_frame(job, "for batch in loader:", 131),
        loader,
        worker=worker,
    )
    orphaned(job, time + 1, [rank], first=rank, code=1)
    expect = ("dataloader-shm-too-small-bus-error",)
    return Label(
        what=f"A loader's worker of rank {rank} gets a bus error.",
        cause=Cause(expect, rank),
        scope=("rank", "node"),
        shown=(f"DataLoader worker (pid {worker}) is killed",),
    )
