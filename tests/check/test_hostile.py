"""Trees that are huge, broken or malicious: read within bounds, never run, never followed out."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from denpex_kb import KnowledgeBase
from denpex_kb.check.run import check_paths
from denpex_kb.errors import InputError
from denpex_kb.read.launches import launches
from denpex_kb.read.pods import pods
from denpex_kb.read.shell import read_shell
from tests.check.test_central import plain

SCRIPT = "import torch.distributed as dist\n\nif dist.get_rank() == 0:\n    dist.barrier()\n"


def test_nothing_is_imported_or_run(tmp_path: Path, kb: KnowledgeBase) -> None:
    witness = tmp_path / "witness"
    code = f"import torch\nopen({str(witness)!r}, 'w').close()\n"
    for name in ("train.py", "conftest.py", "sitecustomize.py", "setup.py"):
        (tmp_path / name).write_text(code, encoding="utf-8")
    (tmp_path / "run.sh").write_text(f"touch {witness}\ntorchrun train.py $(touch {witness})\n", encoding="utf-8")

    check_paths([tmp_path], kb.index)

    assert not witness.exists()


def test_a_yaml_tag_makes_no_object(tmp_path: Path, kb: KnowledgeBase) -> None:
    witness = tmp_path / "witness"
    text = f"deepspeed_config: !!python/object/apply:os.system ['touch {witness}']\n"
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "train.py").write_text(SCRIPT, encoding="utf-8")

    check_paths([tmp_path], kb.index)

    assert not witness.exists()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("deep.py", b"import torch\nx = " + b"(" * 5000 + b")" * 5000),
        ("deep.json", b'{"zero_optimization":' * 3000 + b"1" + b"}" * 3000),
        ("deep.yaml", b"deepspeed: " + b"[" * 3000 + b"]" * 3000),
        ("binary.py", b"import torch\0\1\2" * 100),
        ("latin.py", "import torch  # Größe\n".encode("latin-1")),
        ("bomb.yaml", b"model_type: &a [x]\n" + b"".join(b"k%d: &k%d [*a, *a]\n" % (n, n) for n in range(200))),
        ("loop.yaml", b"deepspeed_config: &a\n  again: *a\n"),
        ("keys.json", b'{"zero_optimization": {"stage": [3], "offload_param": 7}, "optimizer": []}'),
        ("wrong.yaml", b"compute_environment: 3\ndeepspeed_config: text\nfsdp_config: [1]\nnum_processes: {}\n"),
        ("pod.yaml", b"kind: Pod\ncontainers: [3, {resources: 4}, {resources: {limits: {amd.com/gpu: []}}}]\n"),
        ("job.slurm", b"#!/bin/bash\n#SBATCH --nodes\n#SBATCH 'x\nsrun -N\ntorchrun 'never closed\n"),
        ("half.sh", b"#!/bin/bash\ntorchrun --nproc_per_node\ntorchrun\naccelerate launch -m\nsrun bash -c\n"),
    ],
)  # fmt: skip
def test_a_broken_file_does_not_stop_the_others(name: str, data: bytes, tmp_path: Path, kb: KnowledgeBase) -> None:
    (tmp_path / name).write_bytes(data)
    (tmp_path / "train.py").write_text(SCRIPT, encoding="utf-8")

    report = check_paths([tmp_path], kb.index)

    assert [item.id for item in report.findings] == ["dist-barrier-in-rank0-branch-hang"]


def test_anchors_that_multiply_cost_nothing(tmp_path: Path, kb: KnowledgeBase) -> None:
    lines = ['a0: &a0 ["x", "x"]'] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60)]
    lines += ["deepspeed: *a59", "model_name_or_path: *a59", "output_dir: *a59", "learning_rate: *a59"]
    (tmp_path / "bomb.yaml").write_text("\n".join(lines), encoding="utf-8")
    began = time.monotonic()

    check_paths([tmp_path], kb.index)

    assert time.monotonic() - began < 20


def test_links_that_loop_or_lead_out_are_not_followed(tmp_path: Path, kb: KnowledgeBase) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    project.mkdir()
    outside.mkdir()
    (outside / "train.py").write_text(SCRIPT, encoding="utf-8")
    (project / "ok.py").write_text("import torch\n", encoding="utf-8")
    (project / "again").symlink_to(project, target_is_directory=True)
    (project / "out").symlink_to(outside, target_is_directory=True)
    (project / "file.py").symlink_to(outside / "train.py")

    report = check_paths([project], kb.index)

    assert report.findings == ()
    assert [Path(item.file).name for item in report.files] == ["ok.py"]


def test_a_pipe_in_the_tree_is_passed_over(tmp_path: Path, kb: KnowledgeBase) -> None:
    os.mkfifo(tmp_path / "wait.py")
    (tmp_path / "train.py").write_text(SCRIPT, encoding="utf-8")

    assert len(check_paths([tmp_path], kb.index).findings) == 1


def test_a_large_file_is_noted_and_passed_over(tmp_path: Path, kb: KnowledgeBase) -> None:
    (tmp_path / "huge.py").write_bytes(b"import torch\n" + b"x = 1\n" * 300_000)
    (tmp_path / "train.py").write_text(SCRIPT, encoding="utf-8")

    report = check_paths([tmp_path], kb.index)

    assert any("huge.py" in note and "passed over" in note for note in report.notes)


def test_a_file_that_cannot_be_parsed_is_noted(tmp_path: Path, kb: KnowledgeBase) -> None:
    (tmp_path / "old.py").write_text("import torch\nprint 'python 2'\n", encoding="utf-8")

    (tmp_path / "train.py").write_text(SCRIPT, encoding="utf-8")

    report = check_paths([tmp_path], kb.index)

    assert any("old.py:2" in note for note in report.notes)


def test_a_tree_of_which_nothing_can_be_read_says_why(tmp_path: Path, kb: KnowledgeBase) -> None:
    (tmp_path / "old.py").write_text("import torch\nprint 'python 2'\n", encoding="utf-8")

    with pytest.raises(InputError, match=r"old\.py:2"):
        check_paths([tmp_path], kb.index)


def test_a_named_binary_is_refused(tmp_path: Path, kb: KnowledgeBase) -> None:
    (tmp_path / "model.bin").write_bytes(b"\0\1\2\3" * 100)

    with pytest.raises(InputError, match="binary"):
        check_paths([tmp_path / "model.bin"], kb.index)


def test_two_thousand_files_take_a_few_seconds(tmp_path: Path, kb: KnowledgeBase) -> None:
    for name, text in plain().items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    body = "import torch\n\n\nclass Net(torch.nn.Module):\n" + "".join(
        f"    def step_{n}(self, x):\n        return self.layer_{n}(x) + {n}\n\n" for n in range(20)
    )
    for number in range(2000):
        folder = tmp_path / f"part_{number % 40}"
        folder.mkdir(exist_ok=True)
        (folder / f"module_{number}.py").write_text(body, encoding="utf-8")
    began = time.process_time()

    report = check_paths([tmp_path], kb.index)

    assert len(report.files) == 2003
    assert time.process_time() - began < 15  # a few seconds on an idle machine


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.text(
        alphabet=st.sampled_from(list("torchrun accelerate launch srun -N2 --nproc=8\"'\\\n;&|()<>$#{}=")), max_size=300
    )
)
def test_any_shell_text_is_read(text: str) -> None:
    assert isinstance(list(launches(read_shell(text))), list)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=200))
def test_any_manifest_text_is_read(text: str) -> None:
    assert isinstance(pods("kind: Pod\ncontainers:\n" + text), list)
