"""`denpex verify`: shown, run only with consent, and two runs compared."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from denpex_kb.advise.verification import judge, make_runnable, names_of_the_user
from denpex_kb.model.diagnosis import VerifyAdvice
from denpex_kb.model.entry import VerifyResult
from tests.conftest import CENTRAL, ENTRY, ROOT, Ran

SAMPLES = ROOT / "catalog" / "deepspeed" / CENTRAL
OOM = (
    "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of"
    " 79.15 GiB of which 1.10 GiB is free. Process 4242 has 78.05 GiB memory in use. Of the allocated memory"
    " 76.20 GiB is allocated by PyTorch, and 310.50 MiB is reserved by PyTorch but unallocated.\n"
)


def steps(last: int) -> str:
    return "".join(
        f"[2025-11-03 12:00:{number:02},123] [INFO] [logging.py:96:log_dist] [Rank 0] step={number}, skipped=0, lr=0\n"
        for number in range(1, last + 1)
    )


@pytest.fixture
def before(tmp_path: Path) -> Path:
    path = tmp_path / "before.log"
    path.write_text(steps(20) + "RuntimeError: xyzzy plugh 7 failed\n")
    return path


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("catalog") / "ours"
    folder = root / "deepspeed"
    folder.mkdir(parents=True)
    (folder / "our-xyzzy-fails.md").write_text(ENTRY.format(id="our-xyzzy-fails"), encoding="utf-8")
    for name, command, result in (
        ("right", "echo all is well", "{prints: 'all is (well|fine)'}"),
        ("wrong", "echo all is well; exit 3", "{prints: 'well'}"),
        ("never", "echo bad thing", "{never: 'bad'}"),
        ("unread", "echo anything", ""),
        ("slow", "sleep 60 & echo $! > PID_FILE; wait", "{}"),
        ("open", "ls MODEL_DIR", "{}"),
    ):
        text = ENTRY.format(id=f"our-{name}-check").replace("```bash\nplugh\n```", f"```bash\n{command}\n```")
        text = text.replace("xyzzy plugh", f"xyzzy {name} plugh")
        if result:
            text = text.replace("action:", f"result: {result}\naction:")
        (folder / f"our-{name}-check.md").write_text(text, encoding="utf-8")
    text = ENTRY.format(id="our-piece-check").replace("```bash\nplugh\n```", "```python\nprint(trainer.state)\n```")
    (folder / "our-piece-check.md").write_text(text.replace("xyzzy plugh", "xyzzy piece plugh"), encoding="utf-8")
    return root


@pytest.mark.parametrize(
    ("after", "status", "result"),
    [
        pytest.param(steps(30), 0, "gone", id="passed the step"),
        pytest.param(steps(20), 3, "not reached", id="same step"),
        pytest.param(steps(5), 3, "not reached", id="earlier step"),
        pytest.param("loading the model\n", 3, "not reached", id="never got there"),
        pytest.param(steps(30) + "RuntimeError: xyzzy plugh 9 failed\n", 1, "still there", id="later, but the same"),
        pytest.param(steps(5) + OOM, 3, "not reached", id="another failure before"),
        pytest.param(steps(30) + OOM, 0, "gone", id="another failure after"),
    ],
)
def test_two_runs_are_compared_by_how_far_they_came(
    run: Callable[..., Ran], ours: Path, before: Path, tmp_path: Path, after: str, status: int, result: str
) -> None:
    new = tmp_path / "after.log"
    new.write_text(after)
    ran = run(
        "verify", "our-xyzzy-fails", "--catalog", str(ours), "--before", str(before), "--after", str(new), "-f", "json"
    )

    assert ran.status == status
    assert json.loads(ran.out)["result"] == result


def test_the_central_failure_is_gone_in_the_healthy_sample(run: Callable[..., Ran]) -> None:
    ran = run(
        "verify", CENTRAL, "--before", str(SAMPLES / "positive-time-out"),
        "--after", str(SAMPLES / "negative-healthy-leaf-set.log"),
    )  # fmt: skip

    assert ran.status == 0
    assert ran.out.startswith("GONE")


@pytest.mark.parametrize("arguments", [("--before", "x"), ("--after", "x"), ("--before", "x", "--after", "y", "--run")])
def test_arguments_that_do_not_go_together_are_refused(run: Callable[..., Ran], arguments: tuple[str, ...]) -> None:
    assert run("verify", CENTRAL, *arguments).status == 2


def test_a_log_without_the_failure_cannot_be_the_one_before(
    run: Callable[..., Ran], tmp_path: Path, before: Path
) -> None:
    ran = run("verify", CENTRAL, "--before", str(before), "--after", str(before))

    assert ran.status == 2
    assert "does not show" in ran.err


def test_nothing_is_run_unless_asked_for(run: Callable[..., Ran], ours: Path) -> None:
    ran = run("verify", "our-right-check", "--catalog", str(ours))

    assert ran.status == 0
    assert "echo all is well" in ran.out
    assert "RIGHT" not in ran.out


def test_without_a_terminal_nobody_can_agree(run: Callable[..., Ran], ours: Path) -> None:
    ran = run("verify", "our-right-check", "--catalog", str(ours), "--run")

    assert ran.status == 2
    assert "--yes" in ran.err
    assert "RIGHT" not in ran.out


class Terminal:
    """A standard input on which somebody answers."""

    def __init__(self, answer: str) -> None:
        self.answer = answer

    def isatty(self) -> bool:
        return True

    def readline(self) -> str:
        return self.answer


@pytest.mark.parametrize(("answer", "status"), [("y\n", 0), ("yes\n", 0), ("n\n", 2), ("\n", 2), ("", 2)])
def test_it_is_run_only_when_the_user_says_yes(
    run: Callable[..., Ran], ours: Path, monkeypatch: pytest.MonkeyPatch, answer: str, status: int
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    ran = run("verify", "our-right-check", "--catalog", str(ours), "--run")

    assert ran.status == status
    assert ("RIGHT" in ran.out) is (status == 0)
    assert "[y/N]" in ran.err


@pytest.mark.parametrize(
    ("name", "status", "says"),
    [("right", 0, "RIGHT"), ("wrong", 1, "status 3"), ("never", 1, "WRONG"), ("unread", 3, "UNREAD")],
)
def test_the_outcome_is_read_the_way_the_entry_says(
    run: Callable[..., Ran], ours: Path, name: str, status: int, says: str
) -> None:
    ran = run("verify", f"our-{name}-check", "--catalog", str(ours), "--run", "--yes")

    assert ran.status == status
    assert says in ran.out


def test_a_check_that_takes_too_long_is_stopped_with_all_it_started(
    run: Callable[..., Ran], ours: Path, tmp_path: Path
) -> None:
    pid = tmp_path / "pid"
    began = time.monotonic()
    ran = run(
        "verify",
        "our-slow-check",
        "--catalog",
        str(ours),
        "--run",
        "--yes",
        "--timeout",
        "1",
        "--set",
        f"PID_FILE={pid}",
    )

    assert ran.status == 1
    assert "stopped after 1 s" in ran.out
    assert time.monotonic() - began < 15
    state = Path(f"/proc/{pid.read_text().strip()}/stat")
    while time.monotonic() - began < 15 and _runs(state):  # a killed process ends when it is next scheduled
        time.sleep(0.05)
    assert not _runs(state)


def _runs(state: Path) -> bool:
    try:
        return state.read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize(("name", "says"), [("open", "MODEL_DIR"), ("piece", "trainer")])
def test_what_is_not_complete_is_not_run(run: Callable[..., Ran], ours: Path, name: str, says: str) -> None:
    ran = run("verify", f"our-{name}-check", "--catalog", str(ours), "--run", "--yes")

    assert ran.status == 2
    assert says in ran.err


def test_a_script_names_its_file_and_its_command() -> None:
    code = "# check_leaf.py: torchrun --nproc-per-node 2 check_leaf.py MODEL_DIR Block\nprint(1)"
    runnable = make_runnable(VerifyAdvice(code, "1", "python"), {"MODEL_DIR": "/models/x y"})

    assert runnable.name == "check_leaf.py"
    assert runnable.launch == "torchrun --nproc-per-node 2 check_leaf.py '/models/x y' Block"
    assert runnable.open == ()


@pytest.mark.parametrize("value", ["$(reboot)", "x; reboot", "a'b", "`id`", "a\nb"])
def test_a_value_cannot_smuggle_a_command_in(run: Callable[..., Ran], ours: Path, value: str) -> None:
    ran = run("verify", "our-open-check", "--catalog", str(ours), "--run", "--yes", "--set", f"MODEL_DIR={value}")

    assert ran.status == 2
    assert "cannot be filled" in ran.err


def test_names_of_the_users_own_script_are_found() -> None:
    assert names_of_the_user("import torch\nfor m in model.modules():\n    print(torch, m)") == ["model"]


def test_the_central_script_stands_alone(run: Callable[..., Ran]) -> None:
    from denpex_kb import KnowledgeBase

    command = KnowledgeBase.open().entry(CENTRAL).body.verify.command

    assert names_of_the_user(command) == []


@pytest.mark.parametrize(
    ("status", "output", "expected"),
    [
        (0, "rank 0: 4 blocks, 4 leaves, 0 marked too late\n", "right"),
        (0, "rank 0: 4 blocks, 4 leaves, 2 marked too late\n", "wrong"),
        (1, "rank 0: 4 blocks, 4 leaves, 0 marked too late\nRuntimeError: disagreement between rank0\n", "wrong"),
    ],
)
def test_the_central_result_is_read(run: Callable[..., Ran], status: int, output: str, expected: str) -> None:
    from denpex_kb import KnowledgeBase

    assert judge(KnowledgeBase.open().entry(CENTRAL).meta.result, status, output)[0] == expected


def test_without_a_rule_nothing_is_claimed() -> None:
    assert judge(None, 1, "")[0] == "unread"
    assert judge(VerifyResult(status=None, prints="x"), 7, "x")[0] == "right"
