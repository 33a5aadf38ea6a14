"""`denpex fix`: what is printed, what is written, and when it refuses to write."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import CENTRAL, Ran

DS = '{\n  "train_micro_batch_size_per_gpu": 1,\n  "zero_optimization": {\n    "stage": 3\n  }\n}\n'
KNOWN = ("--set", "deepspeed=0.18.4", "--set", "model=deepseek-ai/DeepSeek-V3", "--set", "transformers=4.57.1")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "ds_config.json"
    path.write_text(DS)
    return path


def test_with_a_config_at_hand_the_fix_is_a_diff_against_it_and_nothing_is_written(
    run: Callable[..., Ran], config: Path
) -> None:
    ran = run("fix", CENTRAL, "--config", str(config), *KNOWN)

    assert ran.status == 0
    assert '+    "leaf_module": {' in ran.out
    assert '+      "classes": ["DeepseekV3MoE"]' in ran.out
    assert config.read_text() == DS
    assert list(config.parent.iterdir()) == [config]


def test_write_changes_the_file_and_keeps_the_former_text(run: Callable[..., Ran], config: Path) -> None:
    ran = run("fix", CENTRAL, "--config", str(config), *KNOWN, "--write")

    assert ran.status == 0
    assert json.loads(config.read_text())["zero_optimization"]["leaf_module"] == {"classes": ["DeepseekV3MoE"]}
    assert (config.parent / "ds_config.json.bak").read_text() == DS
    again = run("fix", CENTRAL, "--config", str(config), *KNOWN)
    assert again.status == 0
    assert "No fix" in again.out or "NO FIX" in again.out


def test_own_classes_are_kept(run: Callable[..., Ran], tmp_path: Path) -> None:
    config = tmp_path / "ds.json"
    config.write_text('{"zero_optimization": {"stage": 3, "leaf_module": {"names": ["x"], "classes": []}}}')
    ran = run("fix", "deepspeed-zero3-leaf-wrong-level", "--config", str(config), *KNOWN, "--write")

    assert ran.status == 0
    leaf = json.loads(config.read_text())["zero_optimization"]["leaf_module"]
    assert leaf == {"names": ["x"], "classes": ["DeepseekV3MoE"]}


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (("--set", "deepspeed=0.18.4"), "class-of-the-MoE-block"),
        (("--set", "model=mixtral"), "deepspeed.version >=0.18"),
    ],
)
def test_nothing_is_written_before_what_it_rests_on_is_known(
    run: Callable[..., Ran], config: Path, settings: tuple[str, ...], says: str
) -> None:
    ran = run("fix", CENTRAL, "--config", str(config), *settings, "--write")

    assert ran.status == 2
    assert says in ran.err
    assert config.read_text() == DS


def test_a_config_key_is_not_shown_to_someone_whose_deepspeed_does_not_know_it(
    run: Callable[..., Ran], config: Path
) -> None:
    ran = run(
        "fix", CENTRAL, "--config", str(config), "--set", "deepspeed=0.16.9", "--set", "model=mixtral",
        "--set", "transformers=4.57.1", "--set", "trainer=plain",
    )  # fmt: skip

    assert ran.status == 0
    assert "+++" not in ran.out
    assert "needs deepspeed.version >=0.18" in ran.out
    assert "set_z3_leaf_modules(model" in ran.out


def test_an_accelerate_config_keeps_its_comments(run: Callable[..., Ran], tmp_path: Path) -> None:
    config = tmp_path / "accelerate.yaml"
    text = "compute_environment: LOCAL_MACHINE # x\ndeepspeed_config:\n  zero_stage: 3  # all of it\nnum_processes: 8\n"
    config.write_text(text)
    ran = run(
        "fix", CENTRAL, "--config", str(config), "--set", "model=mixtral", "--set", "transformers=4.57.1", "--set",
        "deepspeed=0.16.9", "--set", "accelerate=1.2", "--set", "trainer=accelerate", "--write",
    )  # fmt: skip

    assert ran.status == 0
    assert config.read_text() == text.replace(
        "  # all of it\n", "  # all of it\n  deepspeed_moe_layer_cls_names: MixtralSparseMoeBlock\n"
    )


def test_the_config_states_facts_and_the_user_wins_over_it(run: Callable[..., Ran], config: Path) -> None:
    config.write_text(DS.replace('"stage": 3', '"stage": 2'))
    assert "zero.stage = 2 (ds_config.json:4)" in run("fix", CENTRAL, "--config", str(config)).out.replace(
        "\n           ", " "
    )
    assert "NO FIX" not in run("fix", CENTRAL, "--config", str(config), "--set", "zero.stage=3").out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--set", "deepspeed.versoin=1"), "deepspeed.version"),
        (("--set", "deepspeed.version=new"), "is a version"),
        (("--set", "zero.stage=three"), "whole number"),
        (("--set", "model.moe=maybe"), "true or false"),
        (("--set", "trainer=keras"), "one of"),
        (("--set", "nonsense"), "fact=value"),
        (("--config", "/nowhere/ds.json"), "No such file"),
    ],
)
def test_what_cannot_be_read_is_named(run: Callable[..., Ran], arguments: tuple[str, ...], says: str) -> None:
    ran = run("fix", CENTRAL, *arguments)

    assert ran.status == 2
    assert says in ran.err


def test_json_and_markdown_say_the_same(run: Callable[..., Ran], config: Path) -> None:
    data = json.loads(run("fix", CENTRAL, "--config", str(config), *KNOWN, "-f", "json").out)
    markdown = run("fix", CENTRAL, "--config", str(config), *KNOWN, "-f", "markdown").out

    assert data["schema"] == "denpex.fix/1"
    assert data["fix"]["needed"] is True
    assert data["changes"][0]["diff"].rstrip("\n") in markdown
    assert data["fix"]["cost"]
    assert data["fix"]["undo"]


def test_versions_are_taken_from_a_log(run: Callable[..., Ran], tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text(
        "[INFO] [logging.py:107:log_dist] [Rank 0] DeepSpeed info: version=0.12.6, git-hash=unknown\n"
        "RuntimeError: something\n"
    )
    ran = run("fix", CENTRAL, "--log", str(log), "--set", "model=mixtral", "--set", "transformers=4.57")

    assert "First upgrade DeepSpeed: 0.12.6 is installed" in ran.out
