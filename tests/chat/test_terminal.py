"""The conversation as a program: scripts, pipes, and a terminal with its keys."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.chat.test_conversation import OOM, OPENING
from tests.conftest import CENTRAL, Ran

SEQUENCES = re.compile(r"\x1b(?:\[[0-9;?]*[a-zA-Z]|\][^\x07]*\x07)")


@pytest.fixture
def play(tmp_path: Path, run: Callable[..., Ran]) -> Callable[..., Ran]:
    """Run a scripted conversation."""

    def play_(*lines: str, columns: int = 100) -> Ran:
        script = tmp_path / "answers.txt"
        script.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return run("chat", "--script", str(script), columns=columns)

    return play_


def test_a_script_is_played_and_its_end_is_the_answer(play: Callable[..., Ran]) -> None:
    ran = play(OPENING, "3", "show fix", "how do I verify", "checklist")

    assert ran.status == 0
    assert "> 3" in ran.out
    assert "Which ZeRO stage?" in ran.out
    assert "set_z3_leaf_modules(model, list(classes))" in ran.out
    assert f"denpex verify {CENTRAL}" in ran.out
    assert "Control experiment" in ran.out


def test_a_script_that_finds_nothing_ends_with_one(play: Callable[..., Ran]) -> None:
    assert play("blorp fnord").status == 1


def test_every_fact_is_shown_with_where_it_comes_from(play: Callable[..., Ran]) -> None:
    ran = play(OPENING, "3", "facts")

    assert "zero.stage = 3  (your answer)" in ran.out
    assert "symptom = hang  (your question)" in ran.out
    assert "model.moe_block = MixtralSparseMoeBlock  (derived: " in ran.out


def test_a_question_says_why_it_is_asked(play: Callable[..., Ran]) -> None:
    ran = play(OPENING, "why")

    assert f"3 speaks for {CENTRAL}" in " ".join(ran.out.split())
    assert "ASKED" in ran.out


def test_reasons_against_an_entry_and_the_others_are_told(play: Callable[..., Ran]) -> None:
    ran = play(OPENING, "3", "why not zero2", "what else")

    assert "Ruled out: zero.stage = 3 (your answer)." in ran.out
    assert "RANKED" in ran.out
    assert "deepspeed-zero3-leaf-wrong-level" in ran.out


def test_a_paste_in_a_script_stands_between_triple_quotes(play: Callable[..., Ran]) -> None:
    ran = play('"""', OOM, '"""')

    assert "> [pasted 5 lines]" in ran.out
    assert "cuda-oom" in ran.out


def test_every_command_of_the_help_is_understood(play: Callable[..., Ran]) -> None:
    from denpex_kb.chat.acts import COMMANDS, command_of

    assert all(command_of(command.strip() + (" x-y" if command.endswith(" ") else "")) for command in COMMANDS)
    assert "show fix" in play("help").out


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_prose_fits_the_width(play: Callable[..., Ran], columns: int) -> None:
    ran = play(OPENING, "why", "why not zero2", "d", "n", "what else", "facts", "help", "summary", columns=columns)

    assert max(len(line) for line in ran.out.splitlines()) <= columns


def test_a_summary_is_saved_into_a_new_file_only(play: Callable[..., Ran], tmp_path: Path) -> None:
    target = tmp_path / "incident.md"

    ran = play(OPENING, "3", f"save {target}", f"save {target}")

    text = target.read_text(encoding="utf-8")
    assert "exists already" in ran.out
    assert text.startswith("# MATCHED: DeepSpeed ZeRO-3 + MoE hangs")
    assert "| zero.stage | 3 | your answer |" in text
    assert "*Which ZeRO stage?* `3`" in text


def test_a_log_through_a_pipe_is_one_paste() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "denpex_kb", "chat"], input=OOM, capture_output=True, text=True, check=False
    )

    assert ran.returncode == 0
    assert "> [pasted 5 lines]" in ran.stdout
    assert "\x1b" not in ran.stdout


def test_prompt_toolkit_is_loaded_by_neither_ask_nor_a_script(tmp_path: Path) -> None:
    script = tmp_path / "answers.txt"
    script.write_text("mixtral zero3 hangs\n", encoding="utf-8")
    for arguments in (["ask", "hang zero3"], ["chat", "--script", str(script)]):
        program = (
            f"import sys; sys.argv = ['denpex', *{arguments!r}]\n"
            "from denpex_kb.cli.main import main\n"
            "try:\n    main()\nexcept SystemExit:\n    pass\n"
            "rooms = [name for name in sys.modules if name.startswith('denpex_kb.chat')]\n"
            "print('prompt_toolkit' in sys.modules, bool(rooms))"
        )
        ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

        assert ran.stdout.splitlines()[-1] == ("False False" if arguments[0] == "ask" else "False True")


# --- on a terminal


class Terminal:
    """The program on a pseudo-terminal."""

    def __init__(self, folder: Path) -> None:
        """Start it in a folder of its own, which is also its home."""
        self.main, child = pty.openpty()
        environment = {
            **os.environ,
            "HOME": str(folder),
            "XDG_CONFIG_HOME": str(folder),
            "TERM": "xterm-256color",
            "PROMPT_TOOLKIT_NO_CPR": "1",
            "COLUMNS": "100",
            "LINES": "50",
            "NO_COLOR": "1",
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", "denpex_kb", "chat"],
            stdin=child,
            stdout=child,
            stderr=child,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
        os.close(child)
        self.seen = ""
        self.wait_for(">")

    def read(self, seconds: float) -> None:
        if select.select([self.main], [], [], seconds)[0]:
            try:
                data = os.read(self.main, 65536)
            except OSError:  # the program has ended
                time.sleep(min(seconds, 0.05))
                return
            self.seen += SEQUENCES.sub("", data.decode("utf-8", "replace"))

    def wait_for(self, text: str, seconds: float = 30) -> None:
        end = time.monotonic() + seconds
        while text not in self.seen:
            assert time.monotonic() < end, f"{text!r} is not shown in {self.seen[-2000:]!r}"
            self.read(0.2)

    def type(self, keys: str) -> None:
        data = keys.encode()
        while data:
            self.read(0)
            data = data[os.write(self.main, data[:2048]) :]

    def forget(self) -> None:
        self.seen = ""

    def leave(self, key: str, seconds: float = 20) -> int:
        """Press a key until the program has ended: pressed while it prints, a key may be lost."""
        end = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < end, self.seen[-2000:]
            self.type(key)
            for _ in range(10):
                self.read(0.1)
        return self.process.returncode


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    """Open a terminal, and end what is left in it."""
    opened = Terminal(tmp_path)
    yield opened
    if opened.process.poll() is None:
        opened.process.kill()
        opened.process.wait()
    os.close(opened.main)


def test_ctrl_d_leaves_with_a_summary_and_nothing_was_written(terminal: Terminal, tmp_path: Path) -> None:
    terminal.type(OPENING + "\r")
    terminal.wait_for("Which ZeRO stage?")
    terminal.type("3\r")
    terminal.wait_for("MATCHED")

    assert terminal.leave("\x04") == 0
    assert "SUMMARY" in terminal.seen
    assert "Traceback" not in terminal.seen
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_drops_the_line_and_at_an_empty_one_leaves(terminal: Terminal) -> None:
    terminal.type("half a sent")
    terminal.wait_for("half a sent")
    terminal.type("\x03")
    time.sleep(0.5)
    assert terminal.process.poll() is None

    assert terminal.leave("\x03") == 0
    assert "Traceback" not in terminal.seen


def test_a_long_paste_stands_in_the_line_by_its_size_and_is_read_whole(terminal: Terminal) -> None:
    text = "".join(f"step {number} loss 2.1\n" for number in range(20_000)) + OOM
    terminal.type("\x1b[200~" + text.replace("\n", "\r") + "\x1b[201~")
    terminal.wait_for("[pasted #1: 20,004 lines]")
    terminal.type("\r")
    terminal.wait_for("cuda-oom")


def test_escape_sequences_of_a_paste_do_not_reach_the_terminal(terminal: Terminal) -> None:
    hostile = OOM.replace("loss", "\x1b]0;owned\x07\x1b[2Jloss")
    terminal.forget()
    terminal.type("\x1b[200~" + hostile + "\x1b[201~\r")
    terminal.wait_for("cuda-oom")

    assert "\x07" not in terminal.seen


def test_the_tab_key_completes_ids_behind_show(terminal: Terminal) -> None:
    terminal.type("show deepspeed-moe-zero3-l\t")
    terminal.wait_for(CENTRAL)
