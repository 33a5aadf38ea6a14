"""`denpex check`: what it prints, in every format, and its exit statuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from tests.check.test_central import plain
from tests.conftest import CENTRAL, Ran

BARRIER = "import torch.distributed as dist\n\nif dist.get_rank() == 0:\n    dist.barrier(){comment}\n"
ENTRY = "dist-barrier-in-rank0-branch-hang"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in plain().items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_a_finding_is_one_line_of_a_linter_with_its_fix_below(project: Path, run: Callable[..., Ran]) -> None:
    ran = run("check", ".")

    first, second, *rest = ran.out.splitlines()
    assert ran.status == 1
    assert first.startswith(f"ds.json:5: {CENTRAL} Under ZeRO-3 ")
    assert "MixtralSparseMoeBlock" in first
    assert second.startswith("    fix: In code, before the engine is built: ")
    assert rest[-1] == f"    denpex show {CENTRAL}"


def test_what_was_read_is_said(project: Path, run: Callable[..., Ran]) -> None:
    err = run("check", ".").err

    assert "read: ds.json (deepspeed config), requirements.txt (packages), train.py (Python)" in err
    assert err.endswith("1 finding\n")


def test_a_clean_set_up_ends_with_0_and_prints_nothing(tmp_path: Path, run: Callable[..., Ran]) -> None:
    write(tmp_path, "train.py", "import torch\n\nprint(torch.__version__)\n")

    ran = run("check", str(tmp_path))

    assert (ran.status, ran.out) == (0, "")
    assert "0 findings" in ran.err


@pytest.mark.parametrize("name", ["missing", "empty"])
def test_unusable_input_ends_with_2(name: str, tmp_path: Path, run: Callable[..., Ran]) -> None:
    (tmp_path / "empty").mkdir()

    ran = run("check", str(tmp_path / name))

    assert ran.status == 2
    assert str(tmp_path / name) in ran.err


def test_an_unknown_id_to_ignore_ends_with_2(project: Path, run: Callable[..., Ran]) -> None:
    ran = run("check", ".", "--ignore", "no-such-entry")

    assert (ran.status, ran.out) == (2, "")


def test_json_follows_the_contract(project: Path, run: Callable[..., Ran]) -> None:
    ran = run("check", ".", "--format", "json")

    report = json.loads(ran.out)
    jsonschema.validate(report, json.loads(run("schema", "check").out))
    assert report["schema"] == "denpex.check/1"
    assert {"file", "line", "id", "message", "fix"} <= report["findings"][0].keys()
    assert report["facts"]["zero.stage"] == [{"value": 3, "from": "ds.json:5"}]
    assert ran.status == 1


def test_github_annotations_point_at_the_line_and_hold_no_raw_line_feed(project: Path, run: Callable[..., Ran]) -> None:
    lines = run("check", ".", "--format", "github").out.splitlines()

    assert len(lines) == 1
    assert lines[0].startswith(f"::error file=ds.json,line=5,title={CENTRAL}::Under ZeRO-3 ")
    assert "%0Afix".lower() in lines[0].lower()


def test_sarif_names_the_rule_and_the_place(project: Path, run: Callable[..., Ran]) -> None:
    log = json.loads(run("check", ".", "--format", "sarif").out)

    (only,) = log["runs"]
    (result,) = only["results"]
    assert log["version"] == "2.1.0"
    assert only["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == CENTRAL
    assert result["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "ds.json"},
        "region": {"startLine": 5},
    }
    assert result["level"] == "error"


@pytest.mark.parametrize(
    "comment", ["  # denpex: ignore", f"  # denpex: ignore[{ENTRY}]", f"  # noqa # denpex: ignore[other, {ENTRY}]"]
)
def test_a_comment_silences_a_line(comment: str, tmp_path: Path, run: Callable[..., Ran]) -> None:
    write(tmp_path, "train.py", BARRIER.format(comment=comment))

    ran = run("check", str(tmp_path))

    assert ran.status == 0
    assert "0 findings, 1 ignored" in ran.err


def test_a_comment_for_another_entry_silences_nothing(tmp_path: Path, run: Callable[..., Ran]) -> None:
    write(tmp_path, "train.py", BARRIER.format(comment="  # denpex: ignore[cuda-fork-reinit]"))

    assert run("check", str(tmp_path)).status == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("run.sh", "#!/bin/bash\n# denpex: ignore\nnohup torchrun --nproc_per_node=8 train.py &\n"),
        (
            "a.yaml",
            "distributed_type: FSDP\nfsdp_config: {fsdp_auto_wrap_policy: NO_WRAP} # denpex: ignore\n",
        ),
    ],
    ids=["shell", "YAML"],
)
def test_comments_work_in_shell_and_yaml(name: str, text: str, tmp_path: Path, run: Callable[..., Ran]) -> None:
    write(tmp_path, name, text)
    assert run("check", str(tmp_path)).status == 0

    write(tmp_path, name, text.replace("denpex", "other"))
    assert run("check", str(tmp_path)).status == 1


def test_an_entry_can_be_left_out(project: Path, run: Callable[..., Ran]) -> None:
    assert run("check", ".", "--ignore", CENTRAL).status == 0


def test_a_stated_version_wins_over_the_lists(project: Path, run: Callable[..., Ran]) -> None:
    assert run("check", ".", "--set", "transformers.version=5.2.0").status == 0


def test_the_installed_versions_of_an_environment_win_over_the_lists(project: Path, run: Callable[..., Ran]) -> None:
    place = project / "venv" / "lib" / "python3.12" / "site-packages"
    for name in ("transformers-5.2.0", "deepspeed-0.16.4"):
        (place / f"{name}.dist-info").mkdir(parents=True)

    assert run("check", ".", "--env", "venv").status == 0


def test_an_environment_in_the_project_is_found(project: Path, run: Callable[..., Ran]) -> None:
    place = project / ".venv" / "lib" / "python3.12" / "site-packages"
    (place / "transformers-5.2.0.dist-info").mkdir(parents=True)
    (project / ".venv" / "pyvenv.cfg").write_text("home = /usr/bin\n", encoding="utf-8")

    ran = run("check", ".")

    assert ran.status == 0
    assert "installed in .venv" in ran.err


def test_files_that_are_named_belong_to_one_set_up(project: Path, run: Callable[..., Ran]) -> None:
    ran = run("check", "train.py", "ds.json", "requirements.txt")

    assert ran.status == 1
    assert ran.out.startswith("ds.json:5: ")
