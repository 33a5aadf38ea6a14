"""How the lines of a job reach a disk: one file with prefixes, a file per rank, node or pod, a tree."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from tests.scale.job import Event, Job

Named = Iterator[tuple[str, str]]  # file, line; a lone file is called ""


class Form(Struct, frozen=True):
    """A launcher, and a layout of what it prints."""

    launcher: str
    write: Callable[[Job, list[Event]], Named]


def whole(prefix: Callable[[Job, Event], str]) -> Callable[[Job, list[Event]], Named]:
    """Write one file, with a prefix before each line; what the kernels logged stands at the end, node by node."""

    def write(job: Job, events: list[Event]) -> Named:
        for event in events:
            if event.kind != "kernel":
                yield "", prefix(job, event) + event.text
        for node, lines in kernels(events).items():
            yield "", ""
            yield "", f"===== {job.hosts[node]}: dmesg -T | tail ====="
            for line in lines:
                yield "", line

    return write


def kernels(events: Iterable[Event]) -> dict[int, list[str]]:
    """Gather what the kernel of each node logged."""
    found: dict[int, list[str]] = {}
    for event in events:
        if event.kind == "kernel":
            found.setdefault(event.index, []).append(event.text)
    return found


def files(
    place: Callable[[Job, Event], str], prefix: Callable[[Job, Event], str] | None = None
) -> Callable[[Job, list[Event]], Named]:
    """Write a folder."""

    def write(job: Job, events: list[Event]) -> Named:
        for event in events:
            kernel = event.kind == "kernel"
            name = f"dmesg_{job.hosts[event.index]}.txt" if kernel else place(job, event)
            yield name, ("" if kernel or prefix is None else prefix(job, event)) + event.text

    return write


def node_of(job: Job, event: Event) -> int:
    """Say on which node a line was printed."""
    return job.node(event.index) if event.kind in ("rank", "nccl") else event.index


def of_rank(event: Event) -> bool:
    """Say whether a process of the job printed a line."""
    return event.kind in ("rank", "nccl")


# ---------------------------------------------------------------------- prefixes
def none(job: Job, event: Event) -> str:
    """Set no prefix."""
    return ""


def label_and_tee(job: Job, event: Event) -> str:
    """Set `srun --label` around one torchrun per node, with --tee 3 (tail_log.py: `[default3]:`)."""
    if event.kind == "driver":
        return ""
    label = f"{node_of(job, event):{len(str(job.nodes - 1))}}: "
    return label + (f"[default{job.local(event.index)}]:" if of_rank(event) else "")


def label(job: Job, event: Event) -> str:
    """Set `srun --label` (write_labelled_message.c: the task, right-aligned)."""
    return f"{event.index:{len(str(job.world - 1))}}: " if of_rank(event) else ""


def tag(job: Job, event: Event) -> str:
    """Set `mpirun --tag-output` of Open MPI 4.1 (iof_hnp.c, orte_iof_base_write_output)."""
    return f"[1,{event.index}]<{event.stream}>:" if of_rank(event) else ""


def pdsh(job: Job, event: Event) -> str:
    """Set the host, as pdsh does for DeepSpeed."""
    return "" if event.kind == "driver" else f"{job.hosts[node_of(job, event)]}: "


def ray(job: Job, event: Event) -> str:
    """Set the worker, as Ray's driver does (ray/_private/worker.py, print_worker_logs; no address on the head node)."""
    if not of_rank(event):
        return ""
    node = job.node(event.index)
    return f"(RayTrainWorker pid={job.pids[event.index]}" + (f", ip={job.ips[node]}) " if node else ") ")


def pod(job: Job, node: int) -> str:
    """Name a pod of a PyTorchJob."""
    return "run-master-0" if node == 0 else f"run-worker-{node - 1}"


def kubectl(job: Job, event: Event) -> str:
    """Set `kubectl logs --prefix` (pkg/cmd/logs)."""
    return "" if event.kind == "driver" else f"[pod/{pod(job, node_of(job, event))}/pytorch] "


def stamped(job: Job, event: Event) -> str:
    """Set `kubectl logs --timestamps`: the clock of the kubelet, in UTC."""
    when = job.zero - dt.timedelta(hours=2) + dt.timedelta(seconds=event.time)
    return "" if event.kind == "driver" else f"{when:%Y-%m-%dT%H:%M:%S.%f}000Z "


# ---------------------------------------------------------------------- places
def by_node(job: Job, event: Event) -> str:
    """Keep a file per node."""
    return f"slurm-{job.number}.out" if event.kind == "driver" else f"{job.hosts[node_of(job, event)]}.log"


def by_node_and_nccl(job: Job, event: Event) -> str:
    """Keep a file per node, and NCCL's in files of its own (NCCL_DEBUG_FILE=nccl.%h.%p.log, src/debug.cc)."""
    if event.kind == "nccl":
        return f"nccl/nccl.{job.host(event.index)}.{job.pids[event.index] + (event.attempt - job.attempt) * 1000}.log"
    return by_node(job, event)


def by_rank(job: Job, event: Event) -> str:
    """Keep a file per rank, as of --redirects or of `srun -o rank_%t.log`."""
    if of_rank(event):
        return f"rank_{event.index:05d}.log"
    return f"slurm-{job.number}.out" if event.kind == "driver" else f"agent_{job.hosts[event.index]}.log"


def by_pod(job: Job, event: Event) -> str:
    """Keep a file per pod."""
    return "kubectl.txt" if event.kind == "driver" else f"{pod(job, node_of(job, event))}.log"


def tree(job: Job, event: Event) -> str:
    """Keep what `torchrun --log-dir --redirects 3` leaves, a tree per node (multiprocessing/api.py: the local rank)."""
    if event.kind == "driver":
        return f"slurm-{job.number}.out"
    host = job.hosts[node_of(job, event)]
    if event.kind == "agent":
        return f"{host}/agent.log"
    run = f"{job.number}_x4k2v9{node_of(job, event):02x}"
    return f"{host}/{run}/attempt_{event.attempt}/{job.local(event.index)}/{event.stream}.log"


# ---------------------------------------------------------------------- Ray folds lines of several workers
DIGITS = re.compile(r"\d")
HINT = (
    " (Ray deduplicates logs by default. Set RAY_DEDUP_LOGS=0 to disable log deduplication, or see "
    "https://docs.ray.io/en/master/ray-observability/user-guides/configure-logging.html#log-deduplication for more "
    "options.)"
)


def folded(job: Job, events: list[Event]) -> Named:
    """Write the driver's log as LogDeduplicator does (ray/_private/ray_logging of 2.9 to 2.40).

    Of lines that are alike but for words with digits, of several workers and within five seconds, the first is printed
    at once, and of the others the last, with their number.
    """
    recent: dict[str, tuple[float, list[Event], set[int]]] = {}
    hint = HINT

    def flush(now: float) -> Iterator[str]:
        nonlocal hint
        for key in [key for key, (since, _, _) in recent.items() if now - since >= 5]:
            _, held, _ = recent.pop(key)
            if held:
                many = f" [repeated {len(held)}x across cluster]{hint}" if len(held) > 1 else ""
                hint = "" if many else hint
                yield ray(job, held[-1]) + held[-1].text + many

    for event in [event for event in events if event.kind != "kernel"]:
        for line in flush(event.time):
            yield "", line
        key = " ".join(word for word in event.text.split() if not DIGITS.search(word))
        held = recent.get(key)
        if of_rank(event) and held is not None:
            held[2].add(event.index)
            if len(held[2]) > 1:
                held[1].append(event)
                continue
        elif of_rank(event):
            recent[key] = (event.time, [], {event.index})
        yield "", ray(job, event) + event.text
    for line in flush(float("inf")):
        yield "", line
    yield from whole(none)(job, [event for event in events if event.kind == "kernel"])


FORMS: Mapping[str, Form] = {
    "torchrun/tee": Form("torchrun", whole(label_and_tee)),
    "torchrun/plain": Form("torchrun", whole(none)),
    "torchrun/node": Form("torchrun", files(by_node)),
    "torchrun/nccl": Form("torchrun", files(by_node_and_nccl)),
    "torchrun/rank": Form("torchrun", files(by_rank)),
    "torchrun/tree": Form("torchrun", files(tree)),
    "accelerate/node": Form("accelerate", files(by_node)),
    "srun/label": Form("srun", whole(label)),
    "srun/plain": Form("srun", whole(none)),
    "srun/rank": Form("srun", files(by_rank)),
    "lightning/rank": Form("lightning", files(by_rank)),
    "mpirun/tag": Form("mpirun", whole(tag)),
    "deepspeed/pdsh": Form("deepspeed", whole(pdsh)),
    "ray/driver": Form("ray", whole(ray)),
    "ray/folded": Form("ray", folded),
    "k8s/kubectl": Form("k8s", whole(kubectl)),
    "k8s/pod": Form("k8s", files(by_pod, stamped)),
}


def lines_of(job: Job) -> dict[str, list[str]]:
    """Give the lines of each file."""
    found: dict[str, list[str]] = {}
    events = [
        event
        for event in job.printed()
        if job.kept[0] <= event.time <= job.kept[1]
        and (event.kind == "driver" or node_of(job, event) not in job.hidden)
    ]
    for name, line in FORMS[job.setup.form].write(job, events):
        found.setdefault(name, []).append(line)
    for lines in found.values():  # a copy of some bytes of a log has the halves of lines
        if "head" in job.torn:
            lines[0] = lines[0][len(lines[0]) // 2 :]
        if "tail" in job.torn:
            lines[-1] = lines[-1][: len(lines[-1]) // 2]
    return found


def save(job: Job, path: Path) -> Path:
    """Write a job to a file or a folder of this name; returns its path."""
    found, lone = lines_of(job), path.with_name(path.name + ".log")
    for name, lines in found.items():
        target = path / name if name else lone
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return lone if "" in found else path
