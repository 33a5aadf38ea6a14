"""Ask, then collect: every node with a time limit of its own, and those that do not answer are recorded."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
from msgspec import Struct

from denpex_kb.capture.nodes import Node
from denpex_kb.capture.script import node_script
from denpex_kb.capture.sections import is_complete, split
from denpex_kb.errors import InputError

_TOGETHER = 32  # nodes at a time
_MOST = 64 << 20  # bytes taken of one node


class NodeReport(Struct, frozen=True):
    """What came of one node."""

    node: str
    state: str  # answered | partial | silent | failed
    seconds: float
    files: tuple[str, ...] = ()
    note: str = ""


class Capture(Struct, frozen=True):
    """What was collected, and where it lies."""

    folder: str
    nodes: tuple[NodeReport, ...]

    @property
    def complete(self) -> bool:
        """Whether every node answered."""
        return all(node.state == "answered" for node in self.nodes)


def plan_text(nodes: Sequence[Node], folder: Path, pids: Sequence[int] = ()) -> str:
    """Write what would be run, for the user to agree to."""
    commands = "\n".join(f"  {shlex.join(node.command)} < collect.sh" for node in nodes[:40])
    more = f"\n  … and {len(nodes) - 40} more" if len(nodes) > 40 else ""
    script = "".join(f"  {line}\n" for line in node_script(pids).splitlines())
    return (
        f"On {len(nodes)} node{'s' * (len(nodes) != 1)} this would run\n{commands}{more}\n\n"
        f"with collect.sh:\n{script}\n"
        f"It only reads: nothing is stopped, changed or sent anywhere; the output goes to {folder}.\n"
    )


def collect(
    nodes: Sequence[Node],
    folder: Path,
    pids: Sequence[int] = (),
    *,
    timeout: float = 120.0,
    tell: Callable[[str], None] = lambda _: None,
) -> Capture:
    """Run the script on every node and write what it prints, a folder per node.

    Args:
        nodes: where to collect.
        folder: where to write; it must not exist, or be empty.
        pids: the processes to look at; every process that trains, if none are named.
        timeout: seconds after which a node counts as silent.
        tell: told of each node that is done.

    Raises:
        InputError: the folder holds something already, or cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise InputError(f"{folder}: not empty; name a new folder")
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror}") from error
    script = node_script(pids)

    def one(node: Node) -> NodeReport:
        report = _node(node, script, folder, timeout)
        tell(f"{report.node}: {report.state}{f' ({report.note})' if report.note else ''}")
        return report

    with ThreadPoolExecutor(min(_TOGETHER, max(len(nodes), 1))) as pool:
        capture = Capture(str(folder), tuple(pool.map(one, nodes)))
    (folder / "capture.json").write_bytes(msgspec.json.format(msgspec.json.encode(capture)))
    return capture


def _node(node: Node, script: str, folder: Path, timeout: float) -> NodeReport:
    began = time.monotonic()
    output, errors, late = "", "", False
    try:
        # a session of its own, so that what the transport started can be ended with it
        process = subprocess.Popen(
            node.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        return NodeReport(node.name, "failed", 0.0, (), f"{node.command[0]}: {error.strerror}")
    try:
        raw, raw_errors = process.communicate(script.encode(), timeout)
    except subprocess.TimeoutExpired:
        late = True
        os.killpg(process.pid, signal.SIGTERM)  # the script that was started here, never the job
        raw, raw_errors = _rest(process)
    output = raw[:_MOST].decode("utf-8", "replace")
    errors = raw_errors[-2000:].decode("utf-8", "replace").strip()
    files = _write(output, folder / node.name)
    if late:
        note = f"no end after {timeout:.0f} s"
        state = "partial" if files else "silent"
    elif not is_complete(output):
        state, note = ("partial" if files else "failed"), (errors.splitlines() or [f"status {process.returncode}"])[-1]
    else:
        state, note = "answered", "" if any("pyspy" in name for name in files) else "no training process found"
    return NodeReport(node.name, state, round(time.monotonic() - began, 1), files, note)


def _rest(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    try:
        return process.communicate(timeout=5)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()


def _write(output: str, folder: Path) -> tuple[str, ...]:
    sections = split(output)
    if sections:
        folder.mkdir(parents=True, exist_ok=True)
    for section in sections:
        (folder / section.name).write_text(section.text, encoding="utf-8")
    return tuple(section.name for section in sections)
