"""How the script reaches each node: here, over Slurm, over Kubernetes, over ssh."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable

from msgspec import Struct

from denpex_kb.errors import InputError

_HOST = re.compile(r"^[A-Za-z0-9][\w.@-]{0,200}$")
_JOB = re.compile(r"^\d{1,12}(?:_\d{1,9})?(?:\+\d{1,6})?$")
HERE = "this-machine"


class Node(Struct, frozen=True):
    """A node and the command that runs a script on it, given on its standard input."""

    name: str
    command: tuple[str, ...]


def here() -> Node:
    """Return this machine."""
    return Node(HERE, ("sh", "-s"))


def over_ssh(hosts: Iterable[str]) -> list[Node]:
    """Return hosts that are reached by ssh, without a password prompt."""
    options = ("-o", "BatchMode=yes", "-o", "ConnectTimeout=10")
    return [Node(_named(host, "host"), ("ssh", *options, "--", host, "sh", "-s")) for host in hosts]


def over_kubernetes(pods: Iterable[str], namespace: str | None = None) -> list[Node]:
    """Return pods that are reached by `kubectl exec`."""
    scope = ("-n", _named(namespace, "namespace")) if namespace else ()
    return [Node(_named(pod, "pod"), ("kubectl", "exec", "-i", *scope, pod, "--", "sh", "-s")) for pod in pods]


def over_slurm(job: str, hosts: Iterable[str] = ()) -> list[Node]:
    """Return the nodes of a Slurm job, each reached by a step of its own that shares the job's resources.

    Raises:
        InputError: the job's nodes cannot be found out.
    """
    if not _JOB.match(job):
        raise InputError(f"{job!r} is no Slurm job id")
    named = [_named(host, "host") for host in hosts] or slurm_hosts(job)
    step = ("--overlap", "--nodes=1", "--ntasks=1", "--input=all", "--quiet")
    return [Node(host, ("srun", f"--jobid={job}", *step, f"--nodelist={host}", "sh", "-s")) for host in named]


def slurm_hosts(job: str, timeout: float = 20.0) -> list[str]:
    """Ask Slurm for the nodes of a job.

    Raises:
        InputError: Slurm does not answer, or knows no nodes.
    """
    try:
        listed = _output(("squeue", "--noheader", f"--job={job}", "--format=%N"), timeout).split()
        hosts = _output(("scontrol", "show", "hostnames", ",".join(listed)), timeout).split() if listed else []
    except (OSError, subprocess.SubprocessError) as error:
        raise InputError(f"the nodes of job {job} cannot be found out: {error}; name them with --host") from error
    if not hosts:
        raise InputError(f"job {job} has no nodes; is it running?")
    return [_named(host, "host") for host in hosts]


def _output(command: tuple[str, ...], timeout: float) -> str:
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=True).stdout


def _named(name: str, what: str) -> str:
    if not _HOST.match(name):
        raise InputError(f"{name!r} is no name of a {what}")
    return name
