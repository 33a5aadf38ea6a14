"""The central entry's fix variants against the real libraries on the CPU: names import, keys are taken, blocks marked.

Make the environments with `tests/repro/make_environments.sh DIR`; then `DENPEX_REPRO=DIR pytest -m slow tests/repro`.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from denpex_kb import KnowledgeBase
from denpex_kb.advise.fix import fit_fix
from denpex_kb.derive.models import derive_model_facts
from denpex_kb.model.facts import Fact, FactSet
from tests.conftest import CENTRAL

pytestmark = pytest.mark.slow
ROOT = Path(os.environ.get("DENPEX_REPRO", "/nowhere"))
VERSIONS = ("0.14.4", "0.16.9", "0.18.4")
FAMILIES = ("mixtral", "qwen3_moe", "deepseek_v3", "switch_transformers")
DEFAULTS = ("mixtral", "qwen3_moe")


def ran(version: str, case: dict[str, str]) -> dict[str, Any]:
    folder = ROOT / f"deepspeed-{version}"
    if not folder.is_dir():
        pytest.skip(f"no DeepSpeed {version} under DENPEX_REPRO; see make_environments.sh")
    done = subprocess.run(
        [str(ROOT / "venv" / "bin" / "python"), str(Path(__file__).with_name("mark.py")), json.dumps(case)],
        env={**os.environ, "PYTHONPATH": str(folder), "PATH": f"{ROOT / 'venv' / 'bin'}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    line = next((line for line in done.stdout.splitlines() if line.startswith("RESULT ")), None)
    assert line is not None, done.stdout[-2000:] + done.stderr[-4000:]
    told: dict[str, Any] = json.loads(line.removeprefix("RESULT "))
    return told


def variant(kb: KnowledgeBase, trainer: str, version: str, family: str, *, remote: bool = False) -> str:
    """Return the code of the variant that is shown in this set-up."""
    facts = FactSet(
        [
            Fact("trainer", trainer, "answer"),
            Fact("deepspeed.version", version, "answer"),
            Fact("transformers.version", "4.57.6", "answer"),
            Fact("model.family", family, "answer"),
        ]
    )
    derive_model_facts(facts, kb.index.kb)
    return fit_fix(kb.entry(CENTRAL), facts, kb.index.kb).snippets[0].text


def all_marked(told: dict[str, Any]) -> bool:
    return bool(told["parameters"]) and told["marked"] == told["parameters"] and told["leaves"] == told["blocks"]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("version", VERSIONS)
def test_without_a_mark_only_the_defaults_are_marked(version: str, family: str) -> None:
    told = ran(version, {"how": "none", "family": family})

    assert all_marked(told) is (version == "0.18.4" and family in DEFAULTS)
    assert all_marked(told) or told["marked"] == 0


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("version", VERSIONS)
def test_the_code_marks_every_block(kb: KnowledgeBase, version: str, family: str) -> None:
    entry = kb.entry(CENTRAL)
    facts = FactSet([Fact("model.family", family, "answer"), Fact("transformers.version", "4.57.6", "answer")])
    derive_model_facts(facts, kb.index.kb)
    fix = fit_fix(entry, facts, kb.index.kb)

    assert fix.variant == entry.body.fix.variants[0].title
    assert all_marked(ran(version, {"how": "code", "family": family, "text": fix.snippets[0].text}))


@pytest.mark.parametrize("family", FAMILIES)
def test_the_config_key_marks_every_block(kb: KnowledgeBase, family: str) -> None:
    text = variant(kb, "trl", "0.18.4", family)

    assert "leaf_module" in text
    assert all_marked(ran("0.18.4", {"how": "config", "family": family, "text": text}))


@pytest.mark.parametrize("family", ["mixtral", "deepseek_v3"])
@pytest.mark.parametrize("version", VERSIONS)
def test_accelerate_marks_every_block_from_its_config(kb: KnowledgeBase, version: str, family: str) -> None:
    text = variant(kb, "accelerate", version, family)

    assert all_marked(ran(version, {"how": "accelerate", "family": family, "text": text}))


@pytest.mark.parametrize("family", ["qwen3_moe", "switch_transformers"])
@pytest.mark.parametrize("version", VERSIONS)
def test_the_variable_marks_every_block(kb: KnowledgeBase, version: str, family: str) -> None:
    text = variant(kb, "hf-trainer", version, family)

    assert "ACCELERATE_DEEPSPEED_MOE_LAYER_CLS_NAMES" in text
    assert all_marked(ran(version, {"how": "variable", "family": family, "text": text}))


@pytest.mark.parametrize("version", ["0.16.9", "0.18.4"])
def test_the_threshold_is_an_accepted_key(version: str) -> None:
    text = '{"zero_optimization": {"stage3_module_granularity_threshold": 1}}'

    assert ran(version, {"how": "config", "family": "deepseek_v3", "text": text})["loss"] > 0
