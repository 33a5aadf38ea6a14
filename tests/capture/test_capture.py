"""Collecting from a live process: what is taken, what is not, and what becomes of nodes that do not answer."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from denpex_kb import KnowledgeBase
from denpex_kb.capture.command import nodes_for, run_capture
from denpex_kb.capture.nodes import Node, here, over_kubernetes, over_slurm, over_ssh
from denpex_kb.capture.run import collect, plan_text
from denpex_kb.capture.script import MARK, node_script
from denpex_kb.capture.sections import mask, mask_command, split
from denpex_kb.errors import InputError

pytestmark = pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="reads /proc")


@pytest.fixture
def job() -> Iterator[int]:
    """Start a process that hangs, with the environment of a rank."""
    environment = {
        **os.environ,
        "RANK": "3",
        "WORLD_SIZE": "8",
        "MASTER_ADDR": "node0",
        "NCCL_DEBUG": "INFO",
        "NCCL_AUTH_TOKEN": "hidden-1",
        "WANDB_API_KEY": "hidden-2",
        "HF_TOKEN": "hidden-3",
    }
    command = [sys.executable, "-c", "import time; time.sleep(60)", "torch", "--api-key", "hidden-4"]
    process = subprocess.Popen(command, env=environment)
    time.sleep(0.3)
    yield process.pid
    assert process.poll() is None, "the capture must not end what it looks at"
    process.kill()
    process.wait()


def test_a_process_is_read_and_its_secrets_are_not(job: int, tmp_path: Path) -> None:
    capture = collect([here()], tmp_path / "out", [job])

    assert capture.nodes[0].state == "answered"
    text = (tmp_path / "out" / "this-machine" / "rank3.process.txt").read_text()
    assert "WORLD_SIZE=8" in text
    assert "NCCL_DEBUG=INFO" in text
    assert "State:" in text
    everything = "".join(path.read_text() for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert "hidden" not in everything
    assert (tmp_path / "out" / "this-machine" / "rank3.pyspy.txt").exists()


def test_training_processes_are_found(job: int, tmp_path: Path) -> None:
    capture = collect([here()], tmp_path / "out")

    assert "rank3.process.txt" in capture.nodes[0].files


def test_a_node_that_does_not_answer_is_recorded(tmp_path: Path) -> None:
    nodes = [
        Node("slow", ("sh", "-c", "sleep 30")),
        Node("broken", ("sh", "-c", "echo no route to host >&2; exit 255")),
        Node("absent", ("no-such-command-here",)),
        Node("half", ("sh", "-c", f"echo '{MARK} dmesg'; echo xid; sleep 30")),
    ]

    capture = collect(nodes, tmp_path / "out", timeout=1.0)

    assert {node.node: node.state for node in capture.nodes} == {
        "slow": "silent",
        "broken": "failed",
        "absent": "failed",
        "half": "partial",
    }
    assert capture.nodes[1].note == "no route to host"
    assert not capture.complete
    assert (tmp_path / "out" / "capture.json").exists()


def test_what_a_node_prints_does_not_choose_where_it_is_written() -> None:
    output = f"{MARK} ../../etc/passwd\nx\n{MARK} dmesg\nline\n{MARK} end\n"

    assert [section.name for section in split(output)] == ["dmesg.txt"]


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "old.log").write_text("x")

    with pytest.raises(InputError, match="not empty"):
        collect([here()], tmp_path)


def test_the_plan_shows_every_command_and_the_script(tmp_path: Path) -> None:
    nodes = [*over_ssh(["gpu01"]), *over_kubernetes(["job-worker-0"], "ml"), *over_slurm("4242", ["n1"])]

    text = plan_text(nodes, tmp_path)

    assert "ssh -o BatchMode=yes -o ConnectTimeout=10 -- gpu01 sh -s" in text
    assert "kubectl exec -i -n ml job-worker-0 -- sh -s" in text
    assert "srun --jobid=4242 --overlap" in text
    assert "py-spy" in text


@pytest.mark.parametrize("name", ["-oProxyCommand=x", "a b", "a;reboot", "", "$(x)"])
def test_names_that_are_no_names_are_refused(name: str) -> None:
    with pytest.raises(InputError):
        over_ssh([name])
    with pytest.raises(InputError):
        over_kubernetes([name])
    with pytest.raises(InputError):
        over_slurm("1", [name])
    with pytest.raises(InputError):
        over_slurm(name)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("train.py --api-key abc --lr 1", "train.py --api-key *** --lr 1"),
        ("train.py --wandb_token=abc", "train.py --wandb_token=***"),
        ("git clone https://me:pass@host/x", "git clone https://***@host/x"),
        ("train.py --tokenizer llama", "train.py --tokenizer llama"),
        ("train.py --max_tokens 10", "train.py --max_tokens 10"),
    ],
)
def test_command_lines_are_masked(text: str, masked: str) -> None:
    assert mask_command(text) == masked


def test_frames_are_not_masked() -> None:
    text = "Process 42: python train.py --hf-token abc\n    get_token (huggingface_hub/utils/_auth.py:40)\n"

    assert mask(text) == text.replace("abc", "***")


def test_workers_of_a_rank_do_not_replace_it() -> None:
    sections = [(kind, pid) for pid in (99, 100, 42) for kind in ("process", "stack")]
    output = "".join(f"{MARK} {kind}-{pid}\nRANK=3\npid {pid}\n" for kind, pid in sections)

    found = {section.name: section.text for section in split(output + f"{MARK} end\n")}

    assert "pid 42" in found["rank3.pyspy.txt"]
    assert "pid 100" in found["rank3.subprocess-100.pyspy.txt"]


def test_the_script_is_plain_shell() -> None:
    checked = subprocess.run(["sh", "-n"], input=node_script([1]), text=True, capture_output=True, check=False)

    assert (checked.returncode, checked.stderr) == (0, "")


def test_the_folder_is_read_by_diagnose(job: int, tmp_path: Path, kb: KnowledgeBase) -> None:
    collect([here()], tmp_path / "out", [job])

    assert kb.diagnose(tmp_path / "out", hung=True).verdict in ("stalled", "matched", "unknown")


def test_nothing_is_run_without_consent(tmp_path: Path) -> None:
    told: list[str] = []

    assert run_capture(tmp_path / "out", tell=told.append) is None

    assert "sh -s < collect.sh" in told[0]
    assert not (tmp_path / "out").exists()


def test_where_it_collects() -> None:
    assert [node.name for node in nodes_for()] == ["this-machine"]
    assert [node.command[0] for node in nodes_for(hosts=["a", "b"])] == ["ssh", "ssh"]
    assert [node.command[0] for node in nodes_for(job="12", hosts=["a"])] == ["srun"]
    assert [node.command[0] for node in nodes_for(pods=["p-0"])] == ["kubectl"]
    with pytest.raises(InputError):
        nodes_for(job="12", pods=["p-0"])
