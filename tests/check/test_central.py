"""The central entry before launch: a MoE model under ZeRO-3 whose block nothing marks, in every framework."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from denpex_kb import KnowledgeBase
from denpex_kb.check.run import check_paths
from denpex_kb.model.preflight import PreflightFinding, PreflightReport
from tests.conftest import CENTRAL

ZERO3 = """{
  "train_micro_batch_size_per_gpu": "auto",
  "bf16": {"enabled": true},
  "zero_optimization": {
    "stage": 3
  }
}
"""
NUMBERS = ZERO3.replace('"auto"', "1")
PINS = "transformers==4.57.1\naccelerate==1.10.0\ndeepspeed==0.16.4\n"
PLAIN = """import deepspeed
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("{model}")
{before}engine, optimizer, loader, _ = deepspeed.initialize(model=model, optimizer=optimizer, config="ds.json")
for batch in loader:
    engine.backward(engine(**batch).loss)
    engine.step()
"""
MARK = (
    "from deepspeed.utils import set_z3_leaf_modules\n"
    "from transformers.models.mixtral.modeling_mixtral import MixtralSparseMoeBlock\n"
    "set_z3_leaf_modules(model, [MixtralSparseMoeBlock])\n"
)
MIXTRAL, QWEN, DENSE = "mistralai/Mixtral-8x7B-v0.1", "Qwen/Qwen3-30B-A3B", "Qwen/Qwen3-8B"


def plain(model: str = MIXTRAL) -> dict[str, str]:
    return {"train.py": PLAIN.format(model=model, before=""), "ds.json": NUMBERS, "requirements.txt": PINS}


def accelerate(model: str = MIXTRAL) -> dict[str, str]:
    return {
        "train.py": "from accelerate import Accelerator\nfrom transformers import AutoModelForCausalLM\n\n"
        f'model = AutoModelForCausalLM.from_pretrained("{model}")\n'
        "accelerator = Accelerator()\nmodel, optimizer, loader = accelerator.prepare(model, optimizer, loader)\n",
        "zero3.yaml": "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\n"
        "deepspeed_config:\n  zero_stage: 3\nnum_processes: 8\n",
        "run.sh": "#!/bin/bash\naccelerate launch --config_file zero3.yaml train.py\n",
        "requirements.txt": PINS,
    }


def hf_trainer(model: str = MIXTRAL) -> dict[str, str]:
    return {
        "train.py": "from transformers import AutoModelForCausalLM, Trainer, TrainingArguments\n\n"
        'args = TrainingArguments("out", deepspeed="ds.json")\n'
        f'model = AutoModelForCausalLM.from_pretrained("{model}")\n'
        "Trainer(model=model, args=args, train_dataset=data).train()\n",
        "ds.json": ZERO3,
        "requirements.txt": PINS,
    }


def llama_factory(model: str = QWEN, version: str = "0.9.2") -> dict[str, str]:
    return {
        "sft.yaml": f"model_name_or_path: {model}\nstage: sft\nfinetuning_type: full\n"
        "deepspeed: examples/deepspeed/ds_z3_config.json\noutput_dir: out\n",
        "run.sh": "#!/bin/bash\nllamafactory-cli train sft.yaml\n",
        "requirements.txt": PINS + f"llamafactory=={version}\n",
    }


def axolotl(model: str = QWEN, version: str = "0.8.1") -> dict[str, str]:
    return {
        "moe.yml": f"base_model: {model}\nsequence_len: 4096\nmicro_batch_size: 1\ngradient_accumulation_steps: 4\n"
        "deepspeed: deepspeed_configs/zero3_bf16.json\noutput_dir: out\n",
        "run.sh": "#!/bin/bash\naxolotl train moe.yml\n",
        "requirements.txt": PINS + f"axolotl=={version}\n",
    }


VARIANTS: dict[str, tuple[Callable[..., dict[str, str]], str, str]] = {
    "plain DeepSpeed": (plain, "In code, before the engine is built", "set_z3_leaf_modules"),
    "Accelerate": (accelerate, "Accelerate", "deepspeed_moe_layer_cls_names"),
    "HF Trainer": (hf_trainer, "HF Trainer", "ACCELERATE_DEEPSPEED_MOE_LAYER_CLS_NAMES=MixtralSparseMoeBlock"),
    "LLaMA-Factory": (llama_factory, "LLaMA-Factory: upgrade", "llamafactory>=0.9.3"),
    "Axolotl": (axolotl, "Axolotl: upgrade", "axolotl>=0.9.1"),
}


@pytest.fixture
def check(tmp_path: Path, kb: KnowledgeBase) -> Callable[[dict[str, str]], PreflightReport]:
    def check_(files: dict[str, str]) -> PreflightReport:
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text, encoding="utf-8")
        return check_paths([tmp_path], kb.index)

    return check_


def of_central(report: PreflightReport) -> list[PreflightFinding]:
    return [item for item in report.findings if item.id == CENTRAL]


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_framework_is_warned_with_its_own_fix(
    variant: str, check: Callable[[dict[str, str]], PreflightReport]
) -> None:
    make, title, code = VARIANTS[variant]

    findings = of_central(check(make()))

    assert len(findings) == 1
    assert findings[0].fix.startswith(f"{title}: ")
    assert code in findings[0].fix
    assert findings[0].line is not None


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_dense_model_is_let_pass(variant: str, check: Callable[[dict[str, str]], PreflightReport]) -> None:
    report = check(VARIANTS[variant][0](DENSE))

    assert (report.findings, report.undecided) == ((), ())


@pytest.mark.parametrize("variant", ["plain DeepSpeed", "Accelerate", "HF Trainer"])
@pytest.mark.parametrize(
    "pins",
    [
        "transformers==5.2.0\ndeepspeed==0.16.4\n",  # fused experts
        "transformers>=5\ndeepspeed==0.16.4\n",
        "transformers==4.46.3\ndeepspeed==0.16.4\n",  # every expert is called
        "transformers==4.57.1\ndeepspeed==0.18.2\n",  # marked by DeepSpeed itself
        "transformers==4.57.1\ndeepspeed>=0.18,<0.20\n",
    ],
)
def test_versions_that_need_nothing_are_let_pass(
    variant: str, pins: str, check: Callable[[dict[str, str]], PreflightReport]
) -> None:
    report = check({**VARIANTS[variant][0](), "requirements.txt": pins})

    assert (of_central(report), report.undecided) == ([], ())


@pytest.mark.parametrize(
    ("make", "version"), [(llama_factory, "0.9.3"), (axolotl, "0.9.1")], ids=["LLaMA-Factory", "Axolotl"]
)
def test_a_framework_that_marks_the_block_itself_is_let_pass(
    make: Callable[..., dict[str, str]], version: str, check: Callable[[dict[str, str]], PreflightReport]
) -> None:
    assert of_central(check(make(QWEN, version))) == []


BY_CLASS = NUMBERS.replace('"stage": 3', '"stage": 3,\n    "leaf_module": {"classes": ["MixtralSparseMoeBlock"]}')
BY_SIZE = NUMBERS.replace('"stage": 3', '"stage": 3,\n    "stage3_module_granularity_threshold": 1000000')
IMPORTING = PLAIN.replace("import deepspeed\n", "import deepspeed\nfrom leaves import mark\n")
LEAVES = (
    "from deepspeed.utils import set_z3_leaf_modules\n\n\ndef mark(model):\n    set_z3_leaf_modules(model, [Block])\n"
)


@pytest.mark.parametrize(
    "marked",
    [
        {"train.py": PLAIN.format(model=MIXTRAL, before=MARK)},
        {"ds.json": BY_CLASS},
        {"ds.json": BY_SIZE},
        {"train.py": IMPORTING.format(model=MIXTRAL, before="mark(model)\n"), "leaves.py": LEAVES},
    ],
    ids=["in code", "in the config", "by granularity", "in an imported module"],
)
def test_a_marked_block_is_let_pass(marked: dict[str, str], check: Callable[[dict[str, str]], PreflightReport]) -> None:
    assert of_central(check({**plain(), **marked})) == []


def test_accelerate_marks_by_its_config_too(check: Callable[[dict[str, str]], PreflightReport]) -> None:
    files = accelerate()
    files["zero3.yaml"] += "machine_rank: 0\n"
    files["zero3.yaml"] = files["zero3.yaml"].replace(
        "  zero_stage: 3\n", "  zero_stage: 3\n  deepspeed_moe_layer_cls_names: MixtralSparseMoeBlock\n"
    )

    assert of_central(check(files)) == []


@pytest.mark.parametrize(
    "files",
    [
        {"run.sh": "export ACCELERATE_DEEPSPEED_MOE_LAYER_CLS_NAMES=MixtralSparseMoeBlock\ntorchrun train.py\n"},
        {"run.sh": "ACCELERATE_DEEPSPEED_MOE_LAYER_CLS_NAMES=MixtralSparseMoeBlock torchrun train.py\n"},
        {
            "train.py": 'import os\n\nos.environ["ACCELERATE_DEEPSPEED_MOE_LAYER_CLS_NAMES"] = block\n'
            + hf_trainer()["train.py"]
        },
    ],
    ids=["exported", "in front of the command", "in code"],
)
def test_the_variable_of_accelerate_marks_too(
    files: dict[str, str], check: Callable[[dict[str, str]], PreflightReport]
) -> None:
    assert of_central(check({**hf_trainer(), **files})) == []


def test_ms_swift_is_told_to_upgrade(check: Callable[[dict[str, str]], PreflightReport]) -> None:
    command = f"#!/bin/bash\nNPROC_PER_NODE=8 swift sft --model {QWEN} --deepspeed zero3\n"

    (finding,) = of_central(check({"run.sh": command, "requirements.txt": PINS + "ms-swift==3.8.0\n"}))

    assert (finding.line, finding.fix.partition(":")[0]) == (2, "ms-swift")


def test_zero2_gets_its_own_warning(check: Callable[[dict[str, str]], PreflightReport]) -> None:
    report = check({**plain(), "ds.json": NUMBERS.replace('"stage": 3', '"stage": 2')})

    assert [item.id for item in report.findings] == ["deepspeed-zero2-moe-unused-experts"]


def test_zero2_with_fused_experts_gets_no_warning(check: Callable[[dict[str, str]], PreflightReport]) -> None:
    report = check(
        {**plain(), "ds.json": NUMBERS.replace('"stage": 3', '"stage": 2'), "requirements.txt": "transformers==5.2.0\n"}
    )

    assert report.findings == ()


def test_a_mark_behind_initialize_is_told_as_too_late(check: Callable[[dict[str, str]], PreflightReport]) -> None:
    late = PLAIN.format(model=MIXTRAL, before="") + MARK

    (finding,) = of_central(check({**plain(), "train.py": late}))

    assert finding.rule == "too-late"
    assert finding.file.endswith("train.py")


def test_unknown_versions_are_no_finding_but_are_named(check: Callable[[dict[str, str]], PreflightReport]) -> None:
    files = plain()
    del files["requirements.txt"]

    report = check(files)

    assert report.findings == ()
    assert [(item.id, item.needs) for item in report.undecided] == [
        (CENTRAL, ("deepspeed.version", "transformers.version"))
    ]


def test_the_model_may_be_a_local_folder(check: Callable[[dict[str, str]], PreflightReport]) -> None:
    config = '{"architectures": ["MixtralForCausalLM"], "model_type": "mixtral", "num_local_experts": 8}'

    files = {**plain("./weights"), "weights/config.json": config}

    assert len(of_central(check(files))) == 1
