"""What `denpex capture` does: show what would be run, ask, collect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from denpex_kb.capture.nodes import Node, here, over_kubernetes, over_slurm, over_ssh
from denpex_kb.capture.run import Capture, collect, plan_text
from denpex_kb.errors import InputError


def nodes_for(
    *, job: str | None = None, hosts: Sequence[str] = (), pods: Sequence[str] = (), namespace: str | None = None
) -> list[Node]:
    """Return the nodes to collect from: this machine where nothing else is named.

    Args:
        job: a Slurm job; its nodes, or those of `hosts`, are reached by steps of it.
        hosts: machines that are reached by ssh, where no job is named.
        pods: pods that are reached by `kubectl exec`.
        namespace: the pods' namespace.

    Raises:
        InputError: a name is none, or the nodes of the job cannot be found out.
    """
    if job is not None and pods:
        raise InputError("--slurm-job and --pod exclude each other: a job runs on one cluster")
    nodes = over_slurm(job, hosts) if job is not None else over_ssh(hosts)
    nodes += over_kubernetes(pods, namespace)
    return nodes or [here()]


def run_capture(
    into: Path,
    *,
    pids: Sequence[int] = (),
    job: str | None = None,
    hosts: Sequence[str] = (),
    pods: Sequence[str] = (),
    namespace: str | None = None,
    timeout: float = 120.0,
    yes: bool = False,
    tell: Callable[[str], None] = lambda _: None,
    agree: Callable[[], bool] = lambda: False,
) -> Capture | None:
    """Show the plan, and collect once it is agreed to; returns None where it is not.

    Args:
        into: the folder to write, which `denpex diagnose` reads.
        pids: the processes to look at; every process that trains, if none are named.
        job: a Slurm job.
        hosts: machines.
        pods: pods of Kubernetes.
        namespace: the pods' namespace.
        timeout: seconds after which a node counts as silent.
        yes: do not ask.
        tell: told the plan, and of each node that is done.
        agree: asks the user.

    Raises:
        InputError: the arguments cannot be used.
    """
    nodes = nodes_for(job=job, hosts=hosts, pods=pods, namespace=namespace)
    if not yes:
        tell(plan_text(nodes, into, pids))
        if not agree():
            return None
    return collect(nodes, into, pids, timeout=timeout, tell=tell)
