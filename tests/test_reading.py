"""Reading many files: in threads, in processes, with a bar; and following logs that grow."""

from __future__ import annotations

import io
import os
import sys
import threading
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from denpex_kb import KnowledgeBase
from denpex_kb.cli.diagnosing import Bar
from denpex_kb.errors import InputError
from denpex_kb.model.diagnosis import Diagnosis
from denpex_kb.pipeline.follow import Follower
from denpex_kb.read.ahead import can_fork, in_processes
from denpex_kb.read.hits import Scanned
from denpex_kb.read.paths import PathReader
from denpex_kb.read.scan import Scanner
from denpex_kb.read.text import clean
from tests.test_inputs import OOM

STEP = "2026-05-03 09:00:0{} step {} loss 2.0\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for rank in range(6):
        steps = "".join(STEP.format(number, number) for number in range(1, 6))
        (tmp_path / f"rank{rank}.log").write_text(steps + (OOM.replace("[rank1]: ", "") if rank == 4 else ""))
    (tmp_path / "ds_config.json").write_text('{"train_batch_size": 8, "zero_optimization": {"stage": 3}}')
    return tmp_path


class Inline(Executor):
    """Any executor will do: this one works at once, where it is."""

    def submit(self, function: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(function(*arguments, **named))
        return future


@pytest.mark.parametrize("kind", ["threads", "processes", "another"])
def test_files_are_read_through_any_executor_with_the_same_answer(kb: KnowledgeBase, folder: Path, kind: str) -> None:
    alone = kb.diagnose(folder, jobs=1)
    made: dict[str, Executor] = {
        "threads": ThreadPoolExecutor(2),
        "processes": ProcessPoolExecutor(1, mp_context=get_context("spawn")),
        "another": Inline(),
    }
    with made[kind] as executor:
        assert kb.diagnose(folder, executor=executor) == alone
    assert alone.initiating is not None
    assert alone.initiating.rank == 4
    assert alone.facts["zero.stage"][0].value == 3


def test_a_large_log_is_scanned_by_several_threads_with_the_same_answer(kb: KnowledgeBase, tmp_path: Path) -> None:
    lines = [f"[rank{number % 8}]: {STEP.format(number % 10, number)}" for number in range(1, 250_000)]
    (tmp_path / "train.log").write_text("".join(lines) + OOM)

    assert (tmp_path / "train.log").stat().st_size > 9 << 20
    assert kb.diagnose(tmp_path, jobs=3) == kb.diagnose(tmp_path, jobs=1)


def make_large(path: Path, lines: int) -> None:
    """Write a log with colours, tracebacks, a line longer than any slot, and a failure at its end."""
    with path.open("w") as log:
        for number in range(1, lines):
            log.write(f"[rank{number % 8}]: \x1b[32m{STEP.format(number % 10, number)}\x1b[0m")
            if number % 20_000 == 0:
                log.write(OOM.replace("OutOfMemory", "Other"))
            if number == lines // 2:
                log.write("x" * (3 << 20) + "\n")
        log.write(OOM)


def test_a_very_large_log_is_scanned_by_several_processes_with_the_same_answer(
    kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_large(tmp_path / "train.log", 150_000)
    monkeypatch.setattr("denpex_kb.pipeline.gather._WORTH_PROCESSES", 1 << 20)
    monkeypatch.setattr("denpex_kb.read.ahead.threading.active_count", lambda: 1)  # of the tests' own there may be more
    forked: list[int] = []
    fork = os.fork

    def counted() -> int:
        forked.append(fork())
        return forked[-1]

    monkeypatch.setattr(os, "fork", counted)

    assert kb.diagnose(tmp_path, jobs=2) == kb.diagnose(tmp_path, jobs=1)
    assert len(forked) == 2


class Dying:
    """A scanner that ends every process but the one that made it."""

    def __init__(self, scanner: Scanner) -> None:
        self.scanner = scanner
        self.process = os.getpid()

    def look(self, piece: bytes) -> Scanned:
        if os.getpid() != self.process:
            os._exit(1)
        return self.scanner.look(piece)


@pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux only")
def test_what_dead_processes_leave_is_looked_at_here(kb: KnowledgeBase) -> None:
    scanner = kb._logs.scanner
    pieces = [f"step {number}\n{OOM}".encode() for number in range(30)]
    with in_processes(Dying(scanner), clean, 2) as ahead:
        found = list(ahead(pieces))

    assert [piece.data for piece in found] == pieces
    assert [piece.lines for piece in found] == [scanner.look(piece).lines for piece in pieces]


def test_processes_are_not_copied_where_other_threads_run() -> None:
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    try:
        assert not can_fork()
    finally:
        done.set()
        other.join()


def test_the_reading_tells_how_far_it_is(kb: KnowledgeBase, folder: Path) -> None:
    told: list[tuple[int, int]] = []
    kb.diagnose(folder, progress=lambda done, total: told.append((done, total)))

    total = sum(path.stat().st_size for path in folder.iterdir())
    assert told[-1] == (total, total)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_bar_is_drawn_only_on_a_terminal_and_only_after_a_second() -> None:
    now = [0.0]
    terminal, file = Terminal(), io.StringIO()
    on_terminal, in_file = Bar(terminal, lambda: now[0]), Bar(file, lambda: now[0])
    for bar in (on_terminal, in_file):
        bar.told(1 << 20, 100 << 20)
    assert terminal.getvalue() == ""
    now[0] = 1.5
    for bar in (on_terminal, in_file):
        bar.told(50 << 20, 100 << 20)

    assert " 50% of 100 MiB" in terminal.getvalue()
    assert file.getvalue() == ""
    on_terminal.clear()
    assert terminal.getvalue().endswith("\r")


class Watch:
    """A follower whose clock the test moves."""

    def __init__(self, kb: KnowledgeBase, *paths: Path, stall: float = 600.0) -> None:
        self.now = 0.0
        self.follower = Follower(
            kb._logs,
            PathReader(kb.index.kb.paths),
            paths,
            lambda hung: kb.diagnose(paths, hung=hung),
            stall=stall,
            clock=lambda: self.now,
        )

    def after(self, seconds: float) -> Diagnosis | None:
        self.now += seconds
        return self.follower.look()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "logs" / "rank0.log"
    path.parent.mkdir()
    path.write_text(STEP.format(1, 1))
    return path


def add(path: Path, text: str) -> None:
    with path.open("a") as stream:
        stream.write(text)


def test_a_failure_is_reported_once_the_log_has_settled(kb: KnowledgeBase, log: Path) -> None:
    watch = Watch(kb, log)
    assert watch.after(0) is None
    add(log, OOM)
    assert watch.after(1) is None
    found = watch.after(30)

    assert found is not None
    assert found.hypotheses[0].id.startswith("cuda-oom")


def test_a_failure_that_the_run_overcomes_is_none(kb: KnowledgeBase, log: Path) -> None:
    watch = Watch(kb, log)
    add(log, OOM.replace("[rank1]: ", ""))
    assert watch.after(1) is None
    add(log, "".join(STEP.format(number % 10, number) for number in range(2, 40)))

    assert watch.after(30) is None


def test_silence_is_reported_as_a_stall(kb: KnowledgeBase, log: Path) -> None:
    watch = Watch(kb, log, stall=120.0)
    assert watch.after(0) is None
    assert watch.after(100) is None
    add(log, STEP.format(2, 2))
    assert watch.after(100) is None
    found = watch.after(130)

    assert found is not None
    assert found.verdict == "stalled"
    assert "nothing was written for 130 s" in found.because


def test_a_line_that_comes_in_pieces_is_one_line(kb: KnowledgeBase, log: Path) -> None:
    watch = Watch(kb, log)
    for at in range(0, len(OOM), 37):
        add(log, OOM[at : at + 37])
        assert watch.after(0.1) is None
    found = watch.after(30)

    assert found is not None
    assert found.hypotheses[0].id.startswith("cuda-oom")


def test_files_that_come_later_are_watched_too(kb: KnowledgeBase, log: Path) -> None:
    watch = Watch(kb, log.parent)
    assert watch.after(1) is None
    (log.parent / "rank3.log").write_text(OOM.replace("[rank1]: ", ""))
    assert watch.after(1) is None
    found = watch.after(30)

    assert found is not None
    assert found.initiating is not None
    assert found.initiating.rank == 3


@pytest.mark.parametrize("how", ["renamed", "cut short", "overwritten"])
def test_what_a_log_held_before_it_was_rotated_still_counts(kb: KnowledgeBase, log: Path, how: str) -> None:
    watch = Watch(kb, log)
    add(log, OOM)
    assert watch.after(1) is None
    if how == "renamed":
        log.rename(log.parent.parent / "rank0.log.1")
        log.write_text("waiting\n")
    elif how == "cut short":
        os.truncate(log, 0)
        add(log, "waiting\n")
    else:
        log.write_text("waiting for the others, who never come back\n" * 60)
    assert watch.after(1) is None
    found = watch.after(30)

    assert found is not None
    assert found.hypotheses[0].id.startswith("cuda-oom")
    assert any("rotated" in note for note in found.input.notes)


def test_a_log_that_vanishes_while_it_is_followed_is_remembered(kb: KnowledgeBase, log: Path) -> None:
    watch = Watch(kb, log.parent)
    add(log, OOM)
    assert watch.after(1) is None
    log.unlink()
    found = watch.after(30)

    assert found is not None
    assert found.hypotheses[0].id.startswith("cuda-oom")


def test_silence_is_not_put_into_the_users_mouth_and_a_vanished_log_is_named(kb: KnowledgeBase, log: Path) -> None:
    watch = Watch(kb, log.parent, stall=60.0)
    assert watch.after(1) is None
    log.unlink()
    found = watch.after(90)

    assert found is not None
    assert found.verdict == "stalled"
    assert "you say" not in found.because
    assert any("no longer there" in note for note in found.input.notes)


def test_an_interrupt_ends_the_following_with_what_was_seen(kb: KnowledgeBase, log: Path) -> None:
    stop = threading.Event()
    stop.set()
    watch = Watch(kb, log)
    watch.after(0)

    assert "interrupted while it was followed" in watch.follower.run(stop).input.notes


def test_what_is_not_there_cannot_be_followed(kb: KnowledgeBase, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        kb.follow(tmp_path / "gone.log")
