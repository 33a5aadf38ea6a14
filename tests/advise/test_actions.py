"""Every diagnosis opens with what to do now, and where."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from denpex_kb import KnowledgeBase
from tests.conftest import CENTRAL, ROOT, Ran

XID = "Nov  3 12:00:01 gpu-07 kernel: NVRM: Xid (PCI:0000:1b:00): 79, pid=4242, GPU has fallen off the bus.\n"
FROB = (
    "step 10 loss 2.0\nTraceback (most recent call last):\n"
    '  File "/train/train.py", line 8, in <module>\n    main()\n'
    '  File "/opt/venv/lib/python3.11/site-packages/lib/a.py", line 1, in a\n    b()\n'
    '  File "/opt/venv/lib/python3.11/site-packages/lib/b.py", line 2, in b\n    c()\n'
    '  File "/opt/venv/lib/python3.11/site-packages/lib/c.py", line 3, in c\n    d()\n'
    '  File "/train/model.py", line 12, in forward\n    raise Frobnication(77)\n'
    "proj.errors.Frobnication: quux 77 is beyond the plugh\n"
)


@pytest.fixture
def unknown(tmp_path: Path) -> Path:
    path = tmp_path / "train.log"
    path.write_text(FROB)
    return path


def test_every_diagnosis_of_the_development_samples_has_an_action(kb: KnowledgeBase) -> None:
    samples = sorted((ROOT / "catalog" / "deepspeed").glob("*/positive-*"))[:20]

    for sample in samples:
        diagnosis = kb.diagnose(sample)
        assert diagnosis.action is not None, sample
        assert diagnosis.action.text
        if diagnosis.hypotheses:
            assert diagnosis.action.restart_helps is not None


def test_where_only_the_kind_of_failure_is_known_the_action_begins_with_the_error(kb: KnowledgeBase) -> None:
    action = kb.diagnose(ROOT / "tests" / "corpus" / "dev" / "inputs" / "multinode-rank3-error-node1").action

    assert action is not None
    assert action.text.startswith("Start with the error at node1.localrank1.stderr.log:9:")


def test_the_action_names_the_node_and_the_device(kb: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "dmesg.log").write_text(XID)
    action = kb.diagnose(tmp_path).action

    assert action is not None
    assert "gpu-07" in action.text
    assert "1b:00" in action.text


def test_an_unknown_failure_says_what_to_collect(kb: KnowledgeBase, unknown: Path) -> None:
    diagnosis = kb.diagnose(unknown)

    assert diagnosis.verdict == "unknown"
    assert diagnosis.action is not None
    assert diagnosis.action.kind == "capture"
    assert diagnosis.action.restart_helps is None
    assert "Collect" in diagnosis.action.text


def test_a_stall_asks_for_stacks_and_for_the_ranks_that_are_missing(kb: KnowledgeBase, tmp_path: Path) -> None:
    for rank in (0, 1):
        (tmp_path / f"rank{rank}.log").write_text("world_size=4 rank=0\nstep: 1 loss: 7.1\n")
    action = kb.diagnose(tmp_path, hung=True).action

    assert action is not None
    assert action.kind == "capture"
    assert "py-spy dump" in action.text
    assert "ranks 2-3" in action.text


def test_an_unknown_question_says_what_to_collect(kb: KnowledgeBase) -> None:
    diagnosis = kb.ask("purple elephants")

    assert diagnosis.verdict == "unknown"
    assert diagnosis.action is not None
    assert diagnosis.action.kind == "capture"


def test_a_healthy_run_is_left_alone(kb: KnowledgeBase) -> None:
    sample = ROOT / "catalog" / "deepspeed" / CENTRAL / "negative-healthy-leaf-set.log"
    diagnosis = kb.diagnose(sample)

    assert diagnosis.verdict == "healthy"
    assert diagnosis.action is not None
    assert diagnosis.action.kind == "wait"


def test_an_unknown_failure_shows_the_users_own_frames_and_where_it_ended(kb: KnowledgeBase, unknown: Path) -> None:
    core = kb.diagnose(unknown).core

    assert core is not None
    assert core.exception == "proj.errors.Frobnication: quux 77 is beyond the plugh"
    assert [(frame.file, frame.line, frame.own) for frame in core.frames] == [
        ("/train/train.py", 8, True),
        ("/train/model.py", 12, True),
    ]
    assert core.left_out == 3
    assert core.frames[-1].code == "raise Frobnication(77)"


def test_the_core_is_that_of_the_failing_rank_where_lines_are_interleaved(kb: KnowledgeBase) -> None:
    lines = FROB.splitlines()[1:]
    mixed = "".join(
        f'[rank3]: {line}\n[rank1]:   File "/other/x.py", line {n}, in y\n' for n, line in enumerate(lines[:-1])
    )
    diagnosis = kb.ask(mixed + f"[rank3]: {lines[-1]}\n")

    assert diagnosis.core is not None
    assert all("/other/" not in frame.file for frame in diagnosis.core.frames)


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_the_core_is_shown(run: Callable[..., Ran], unknown: Path, form: str) -> None:
    ran = run("diagnose", str(unknown), "--format", form)

    assert ran.status == 1
    assert "/train/model.py:12" in ran.out.replace("\\", "")
    assert "site-packages/lib/b.py" not in ran.out


def test_near_entries_say_why_they_do_not_fit(kb: KnowledgeBase) -> None:
    from denpex_kb.advise.nearest import nearest
    from denpex_kb.model.diagnosis import Evidence, Hypothesis, RuledOut

    entry = kb.entry(CENTRAL)
    weak = Hypothesis(CENTRAL, "x", 0.2, "initiating", (Evidence("signature", "order-changed", text="y"),))
    found = nearest([weak], [RuledOut("deepspeed-moe-native-zero3", "zero.stage = 2")], {
        CENTRAL: entry, "deepspeed-moe-native-zero3": kb.entry("deepspeed-moe-native-zero3"),
    })  # fmt: skip

    assert "only weak signs (order-changed)" in found[0].why_not
    assert "not seen: “" in found[0].why_not
    assert "zero.stage = 2" in found[1].why_not
