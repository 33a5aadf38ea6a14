"""Hostile and unlucky input: everything is bounded, said, and leaves the rest of the input diagnosed."""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from denpex_kb import KnowledgeBase
from denpex_kb.model.events import Origin
from denpex_kb.read import files
from tests.conftest import ROOT, Ran
from tests.test_inputs import OOM

EVIL = "\x1b[2J\x1b]0;owned\x07\u202eRuntimeError\u2066: <script>alert(1)</script> [x](javascript:1) `a` |b|"
FORMS = ["text", "markdown", "json"]
DANGEROUS = [chr(code) for code in (*range(9), *range(11, 32), 127, 0x9B, 0x202E, 0x2066, 0x200B)]


def test_the_failure_is_found_whatever_stands_around_it(kb: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "rank1.log").write_text(EVIL + "\n" + OOM + EVIL + "\n")
    diagnosis = kb.diagnose(tmp_path)

    assert diagnosis.hypotheses[0].id.startswith("cuda-oom")


@pytest.mark.parametrize("form", FORMS)
def test_lines_that_act_on_a_terminal_or_a_page_are_shown_inert(
    run: Callable[..., Ran], tmp_path: Path, form: str
) -> None:
    (tmp_path / "train.log").write_text(
        'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n' + f"{EVIL} \x9b31m\n"
    )
    ran = run("diagnose", str(tmp_path / "train.log"), "--format", form)
    shown = ran.out.replace("\r\n", "\n")

    assert not [character for character in DANGEROUS if character in shown]
    if form == "markdown":  # outside code spans and blocks nothing is HTML
        outside = re.sub(r"(`+).*?\1", "", shown, flags=re.DOTALL)
        assert "<script>" not in outside


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["a\nb.log", "a\x1b[2Jb.log", "a\u202eb.log", "<b>.log", "-q.log", "a\udcffb.log"])
def test_a_file_name_with_line_breaks_or_escapes_is_inert(
    run: Callable[..., Ran], tmp_path: Path, form: str, name: str
) -> None:
    (tmp_path / name).write_text(OOM)
    ran = run("diagnose", str(tmp_path), "--format", form)

    assert ran.status == 0
    assert not [character for character in DANGEROUS if character in ran.out]
    if form == "json":
        assert json.loads(ran.out)["initiating"]["file"].endswith(".log")


class _Runs:
    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, (self.command,)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_pickle_that_would_run_a_command_is_refused_and_named(
    kb: KnowledgeBase, tmp_path: Path, protocol: int
) -> None:
    mark = tmp_path / "executed"
    data = pickle.dumps({"entries": [_Runs(f"touch {mark}")], "pg_config": {}, "version": "2.1"}, protocol)
    (tmp_path / "trace_rank_0").write_bytes(data)
    (tmp_path / "rank1.log").write_text(OOM)
    diagnosis = kb.diagnose(tmp_path)

    assert not mark.exists()
    assert diagnosis.hypotheses
    assert any("trace_rank_0" in note and "not read as a trace" in note for note in diagnosis.input.notes)


def test_a_file_that_is_cut_short_while_it_is_read_ends_there(
    kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rank1.log"
    path.write_text(OOM + "still here, no harm\n" * (8 << 16))
    read = files._plain

    def cutting(stream: object, name: str, notes: list[str]) -> Iterator[bytes]:
        for number, chunk in enumerate(read(stream, name, notes)):  # type: ignore[arg-type]
            if number == 1:
                os.truncate(path, 100)
            yield chunk

    monkeypatch.setattr(files, "_plain", cutting)
    diagnosis = kb.diagnose(path)

    assert path.stat().st_size == 100
    assert diagnosis.hypotheses[0].id.startswith("cuda-oom")
    assert diagnosis.input.bytes < 8 << 20


def test_a_file_cut_short_by_another_process_does_not_kill_the_program(tmp_path: Path) -> None:
    """A mapped file would end the process with SIGBUS."""
    path = tmp_path / "rank1.log"
    path.write_text(OOM + "still here, no harm\n" * (32 << 16))
    process = subprocess.Popen(
        [sys.executable, "-m", "denpex_kb", "diagnose", str(path), "--format", "json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    )
    while process.poll() is None:
        os.truncate(path, 4096)
        os.truncate(path, 32 << 20)
        time.sleep(0.002)
    out, error = process.communicate()

    assert process.returncode == 0, error
    assert json.loads(out)["hypotheses"]


def test_a_file_that_grows_while_it_is_read_does_not_go_on_for_ever(
    kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_GROWN", 4 << 20)
    path = tmp_path / "rank1.log"
    path.write_text(OOM)
    plain = files._plain

    def growing(stream: object, name: str, notes: list[str]) -> Iterator[bytes]:
        for chunk in plain(stream, name, notes):  # type: ignore[arg-type]
            with path.open("ab") as more:
                more.write(b"step 1 loss 2.0\n" * (1 << 16))
            yield chunk

    monkeypatch.setattr(files, "_plain", growing)

    assert kb.diagnose(path).input.bytes <= 6 << 20


@pytest.mark.parametrize("what", ["vanished", "a pipe"])
def test_a_file_that_became_something_else_since_it_was_found_is_named(
    kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    (tmp_path / "rank0.log").write_text(OOM)
    other = tmp_path / "rank1.log"
    other.write_text(OOM)
    found, notes = files.collect([tmp_path])
    other.unlink()
    if what == "a pipe":
        os.mkfifo(other)
    monkeypatch.setattr("denpex_kb.pipeline.logs.collect", lambda _: (found, notes))
    diagnosis = kb.diagnose(tmp_path)

    assert diagnosis.hypotheses
    assert any("rank1.log: cannot be opened" in note for note in diagnosis.input.notes)


def test_what_may_not_be_read_is_named_and_the_rest_diagnosed(
    kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rank0.log").write_text(OOM)
    (tmp_path / "rank1.log").write_text(OOM)
    real = os.open

    def forbidding(path: Path, flags: int, *more: int) -> int:
        if Path(path).name == "rank1.log":
            raise PermissionError(13, "Permission denied")
        return real(path, flags, *more)

    monkeypatch.setattr("os.open", forbidding)
    diagnosis = kb.diagnose(tmp_path)

    assert diagnosis.hypotheses
    assert "rank1.log: cannot be opened: Permission denied" in diagnosis.input.notes


def test_pipes_devices_and_loops_of_links_in_a_folder_do_not_hold_the_reading_up(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    (tmp_path / "rank0.log").write_text(OOM)
    os.mkfifo(tmp_path / "pipe.log")
    (tmp_path / "zero.log").symlink_to("/dev/zero")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "a.log").symlink_to(tmp_path / "b.log")
    (tmp_path / "b.log").symlink_to(tmp_path / "a.log")
    diagnosis = kb.diagnose(tmp_path)

    assert diagnosis.hypotheses
    assert any("2 files that hold no logs" in note for note in diagnosis.input.notes)
    assert any("a.log" in note for note in diagnosis.input.notes)


@pytest.mark.parametrize("size", [pytest.param(24 << 20, id="24 MB"), pytest.param(1 << 30, marks=pytest.mark.slow)])
def test_one_line_of_any_length_leaves_the_rest_readable(kb: KnowledgeBase, size: int) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(size >> 20):
            yield b"0123456789abcdef" * (1 << 16)
        yield b"\n" + OOM.encode()

    diagnosis = kb.diagnose_stream(chunks())

    assert diagnosis.hypotheses[0].id.startswith("cuda-oom")
    assert diagnosis.initiating is not None
    assert diagnosis.initiating.line is not None


def test_a_log_without_any_line_feed_is_read(kb: KnowledgeBase) -> None:
    assert kb.diagnose_stream([OOM.replace("\n", "\r").encode() * 3]).input.lines == 1


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-16"])
def test_utf_16_is_read_in_chunks_of_any_size(kb: KnowledgeBase, encoding: str) -> None:
    data = ("step 1 loss 2.0\n" * 2000 + OOM).encode(encoding)
    chunks = [data[at : at + 1001] for at in range(0, len(data), 1001)]

    assert kb.diagnose_stream(chunks).hypotheses[0].id.startswith("cuda-oom")


def test_ten_thousand_files_are_read(kb: KnowledgeBase, tmp_path: Path) -> None:
    for rank in range(10_000):
        (tmp_path / f"rank{rank}.log").write_text("step 1 loss 2.0\n" if rank != 77 else OOM.replace("[rank1]: ", ""))
    diagnosis = kb.diagnose(tmp_path)

    assert diagnosis.input.files == 10_000
    assert diagnosis.initiating is not None
    assert diagnosis.initiating.rank == 77


def test_lines_that_repeat_for_ever_are_counted_and_the_last_of_each_rank_is_kept(kb: KnowledgeBase) -> None:
    warning = "[rank{}]: RuntimeError: CUDA error: an illegal memory access was encountered, time {}"
    lines = [warning.format(number % 3, number) for number in range(30_000)]
    scanner = kb._logs.scanner
    reading = scanner.scan(["\n".join(lines).encode() + b"\n"], Origin("train.log"))

    assert max(reading.counts.values()) == 30_000
    assert len(reading.seen) < 5_000
    last = {seen.line.rank: seen.line.number for seen in reading.seen}
    assert last == {0: 29_998, 1: 29_999, 2: 30_000}


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_log_that_holds_a_report_is_not_diagnosed_by_what_the_report_quotes(
    run: Callable[..., Ran], kb: KnowledgeBase, tmp_path: Path, form: str
) -> None:
    (tmp_path / "failed.log").write_text(OOM)
    report = run("diagnose", str(tmp_path / "failed.log"), "--format", form).out
    log = tmp_path / "next.log"
    log.write_text("the hook says:\n" * 10 + report + "RuntimeError: something of its own\n")
    diagnosis = kb.diagnose(log)

    assert "cuda-oom" not in str(diagnosis.hypotheses)
    assert diagnosis.first_error is not None
    assert diagnosis.first_error.text == "RuntimeError: something of its own"
    assert any("an answer of Denpex" in note for note in diagnosis.input.notes)


def test_a_report_that_leaves_it_open_is_known_as_one_too(
    run: Callable[..., Ran], kb: KnowledgeBase, tmp_path: Path
) -> None:
    """Its candidates stand before what would be done about the first of them."""
    (tmp_path / "failed.log").write_text(
        'Traceback (most recent call last):\n  File "/work/train.py", line 19, in <module>\n'
        "    logits = model.module.head(hidden)\nRuntimeError: mat2 must be a matrix, got 1-D tensor\n"
    )
    report = run("diagnose", str(tmp_path / "failed.log")).out
    assert report.startswith("AMBIGUOUS")
    log = tmp_path / "next.log"
    log.write_text("the hook says:\n" * 10 + report + "RuntimeError: something of its own\n")

    assert kb.diagnose(log).verdict == "unknown"


def test_the_first_interrupt_prints_what_was_found_so_far(tmp_path: Path) -> None:
    """Ctrl-C while standard input is open: the answer so far, and status 130."""
    process = subprocess.Popen(
        [sys.executable, "-m", "denpex_kb", "diagnose", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    )
    assert process.stdin is not None
    process.stdin.write(OOM.encode() + b"step 1 loss 2.0\n" * 100_000)  # more than a pipe holds: it has been read
    process.stdin.flush()
    process.send_signal(2)
    out, error = process.communicate(timeout=60)

    assert process.returncode == 130, error
    assert b"MATCHED" in out
    assert b"Traceback" not in error


def test_an_interrupt_between_files_says_how_much_was_read(kb: KnowledgeBase, tmp_path: Path) -> None:
    for rank in range(5):
        (tmp_path / f"rank{rank}.log").write_text(OOM)
    stop = threading.Event()
    diagnosis = kb.diagnose(tmp_path, stop=stop, progress=lambda done, total: stop.set() if done * 2 > total else None)

    assert diagnosis.hypotheses
    assert "interrupted: 3 of 5 files were read" in diagnosis.input.notes
