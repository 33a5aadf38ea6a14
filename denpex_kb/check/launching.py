"""How a job is started: `launch.shape` and `launch.endpoint` of kb/facts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from denpex_kb.check.mismatches import number
from denpex_kb.check.pieces import Launched, Piece
from denpex_kb.check.setups import Setup
from denpex_kb.model.facts import Fact
from denpex_kb.read.launches import Launch

_AGENTS = ("torchrun", "torch.distributed.launch", "accelerate")
_LOCAL = re.compile(r"^(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[?::1\]?)(?::\d+)?$")
_DEFAULT_PORT = "29500"
_FIXED_RANK = re.compile(r"^(?:0|\$\{?SLURM_(?:NODEID|PROCID)\}?)$")


def launch_facts(setup: Setup) -> Iterator[Fact]:
    """Go through what the launch of a set-up shows by itself."""
    launched = setup.launched
    if launched is None:
        return
    launch = launched.launch
    endpoint = (
        launch.options.get("rdzv_endpoint")
        or launch.options.get("master_addr")
        or launch.options.get("main_process_ip")
    )
    # the node that holds the store may call itself localhost, as long as the others name its real address
    if endpoint is not None and "$" not in endpoint and not _is_head(launch):
        yield _fact("launch.endpoint", "local" if _LOCAL.match(endpoint) else "other", setup, launch, endpoint)
    for name, text in _shapes(launched):
        yield _fact("launch.shape", name, setup, launch, text)


def _is_head(launch: Launch) -> bool:
    return (launch.options.get("node_rank") or launch.options.get("machine_rank")) == "0" and launch.srun is None


def _fact(fact: str, value: str, setup: Setup, launch: Launch, text: str) -> Fact:
    return Fact(fact, value, "config", setup.name, launch.line, None, text)


def _shapes(launched: Launched) -> Iterator[tuple[str, str]]:
    launch = launched.launch
    yield from _of_srun(launched)
    outside = not launched.script.slurm and launch.srun is None and launched.pod is None
    if launch.nohup and launch.launcher in _AGENTS and outside:
        yield "nohup-agent", "nohup in front of the launcher"
    names = set(launch.variables) | set(launched.script.exported)
    if launch.launcher == "python" and outside and not names & {"RANK", "WORLD_SIZE", "LOCAL_RANK"}:
        yield "plain-python", "python without a launcher"
    if launch.launcher == "torch.distributed.launch" and "use_env" not in launch.options:
        yield "distributed-launch", "torch.distributed.launch without --use_env"
    yield from _of_docker(launch)


def _of_srun(launched: Launched) -> Iterator[tuple[str, str]]:
    launch, script = launched.launch, launched.script
    if launch.launcher not in _AGENTS:
        return
    tasks = _tasks(launched)
    if launch.srun is not None and tasks is not None and tasks > 1:
        yield "agent-per-task", f"srun with {tasks} tasks per node"
    rank = launch.options.get("node_rank") or launch.options.get("machine_rank") or ""
    fixed = _FIXED_RANK.match(rank) and (rank == "0" or launch.expanded_early)
    if launch.srun is not None and fixed and _nodes(launched) > 1 and launch.options.get("rdzv_backend") != "c10d":
        yield "node-rank-fixed", f"--node_rank {rank} on every node"
    port = script.exported.get("MASTER_PORT", ("", 0))[0]
    if "array" in script.slurm and port.isdigit() and "exclusive" not in script.slurm:
        yield "port-fixed-in-array", f"MASTER_PORT={port} in every task of the array"


def _of_docker(launch: Launch) -> Iterator[tuple[str, str]]:
    options = launch.docker or ()
    shared = any(re.match(r"--(?:shm-size|ipc)\b|-(?:v|-volume|-mount|-tmpfs).*/dev/shm", item) for item in options)
    if any(item.startswith("--gpus") for item in options) and not shared:
        yield "no-shm", "docker run without --shm-size or --ipc=host"


def _tasks(launched: Launched) -> int | None:
    srun = launched.launch.srun or {}
    own = number(srun.get("ntasks_per_node"))
    if own is not None or {"ntasks", "nodes"} & srun.keys():
        return own
    return number(launched.script.slurm.get("ntasks_per_node", ("", 0))[0])


def _nodes(launched: Launched) -> int:
    srun = launched.launch.srun or {}
    asked = (
        srun.get("nodes") or launched.script.slurm.get("nodes", ("", 0))[0] or launched.launch.options.get("nnodes", "")
    )
    return number(asked) or 1


def neighbours(piece: Piece) -> Iterator[Fact]:
    """Go through what several launches of one script show together: a shared port, a shared GPU."""
    launches = [item.launch for item in piece.launches]
    yield from _shared_ports(piece, launches)
    servers = [item for item in launches if item.launcher == "server" and item.background]
    trainers = [item for item in launches if item.launcher in _AGENTS]
    for server in servers:
        for trainer in trainers:
            both = _devices(server) & _devices(trainer)
            if both:
                text = f"GPU {min(both)} is given to the server (line {server.line}) and to the trainer"
                yield Fact("launch.shape", "server-shares-gpu", "config", piece.text.name, trainer.line, None, text)


def _devices(launch: Launch) -> set[str]:
    visible = launch.variables.get("CUDA_VISIBLE_DEVICES", "")
    return {part for part in visible.split(",") if part.isdigit()}


def _shared_ports(piece: Piece, launches: Sequence[Launch]) -> Iterator[Fact]:
    seen: dict[str, Launch] = {}
    for launch in launches:
        if launch.launcher not in (*_AGENTS, "deepspeed") or launch.srun is not None:
            continue
        port = _port(launch)
        if port is None:
            continue
        if port in seen and seen[port].background and _devices(seen[port]) != _devices(launch):
            text = f"port {port}, which the launcher of line {seen[port].line} still holds"
            yield Fact("launch.shape", "port-shared", "config", piece.text.name, launch.line, None, text)
        elif launch.background:
            seen[port] = launch


def _port(launch: Launch) -> str | None:
    options = launch.options
    if (
        "standalone" in options
        or "rdzv_backend" in options
        or "rdzv_endpoint" in options
        or "MASTER_PORT" in launch.variables
    ):
        return None
    given = options.get("master_port") or options.get("main_process_port") or _DEFAULT_PORT
    return given if given.isdigit() and given != "0" else None
