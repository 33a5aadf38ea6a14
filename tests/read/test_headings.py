"""Headings between the logs or dumps of ranks in one file."""

from __future__ import annotations

import pytest

from denpex_kb.catalog.kbfiles import load_kb
from denpex_kb.index.build import make_rules
from denpex_kb.index.scandb import compile_database
from denpex_kb.model.events import Origin, Reading
from denpex_kb.read.headings import rank_headings
from denpex_kb.read.prefixes import PrefixReader
from denpex_kb.read.scan import Scanner
from denpex_kb.read.stacks import StackReader
from denpex_kb.read.timestamps import TimeReader
from tests.derive.scenes import KB

_KB = load_kb(KB)
_RULES, _ = make_rules((), _KB)
_PREFIXES = PrefixReader(_KB.prefixes)
_SCANNER = Scanner(_RULES, compile_database(_RULES.patterns, _KB.common), _PREFIXES, TimeReader(_KB.times))
ERROR = "KeyError: 'x'"
THREAD = "Current thread 0x00007f3a1c0f4740 (most recent call first):"


def read(*lines: str, rank: int | None = None) -> Reading:
    return _SCANNER.scan(("\n".join(lines).encode() + b"\n",), Origin("all.log", rank=rank))


def ranks(reading: Reading, text: str = ERROR) -> list[int | None]:
    """Return the ranks of the lines of one text."""
    return [seen.line.rank for seen in reading.seen if seen.line.text == text]


@pytest.mark.parametrize(
    "heading",
    [
        "===== rank {} =====",
        "=== Rank {}: ===",
        "--- rank {} ---",
        "---- rank{} ----",
        "# rank {}",
        "## Rank {} (gpu-07)",
        "*** RANK {} ***",
        "==> rank{}.log <==",
        "==> logs/run_7/rank_{}.txt <==",
        "==> /srv/logs/rank-{}/stderr.log <==",
        "===== global rank {} =====",
        "Rank {}:",
    ],
)
def test_lines_below_a_heading_are_those_of_its_rank(heading: str) -> None:
    reading = read(heading.format(0), "loading", ERROR, "", heading.format(12), "loading", ERROR, ERROR)

    assert ranks(reading) == [0, 12, 12]
    assert reading.ranks == {0, 12}
    assert reading.last is not None
    assert reading.last.rank == 12
    assert {key: line.number for key, line in reading.lasts.items()} == {("rank", 0): 3, ("rank", 12): 8}


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(["# rank 3", ERROR], [3], id="one heading at the top"),
        pytest.param(["a", "b", "c", "d", "# rank 3", ERROR], [None], id="one heading in the middle"),
        pytest.param([ERROR, "# rank 3", "a", ERROR, "# rank 4", ERROR], [None, 3, 4], id="lines above the first"),
        pytest.param(["# rank 3", ERROR, "===== gpu-07: dmesg -T =====", ERROR], [3, None], id="a heading of a host"),
        pytest.param(
            ["--- rank 0 ---", "--- rank 1 ---", "--- rank 2 ---", ERROR], [None], id="a live run prints them on end"
        ),
        pytest.param(
            ["=== rank 0 ===", "a", "=== rank 1 ===", "a", f"[rank0]: {ERROR}"], [0], id="a live run goes on below"
        ),
        pytest.param(["=== rank 0 ===", f"[rank0]: {ERROR}", "=== rank 1 ===", ERROR], [0, 1], id="prefixes agree"),
        pytest.param(["=== rank 0 model ===", ERROR, "=== rank 1 model ===", ERROR], [None, None], id="a banner"),
        pytest.param(["# rank 3 waits", ERROR, "# rank 4 waits", ERROR], [None, None], id="a sentence"),
    ],
)
def test_only_what_is_a_heading_gives_a_rank(lines: list[str], expected: list[int | None]) -> None:
    assert ranks(read(*lines)) == expected


def test_what_a_launcher_or_a_machine_says_below_a_heading_is_no_ranks_line() -> None:
    killed = "Memory cgroup out of memory: Killed process 4202 (python3.11) total-vm:9kB, anon-rss:9kB"
    reading = read("# rank 3", ERROR, "# rank 4", ERROR, killed)

    assert ranks(reading, killed) == [None]


def test_a_heading_of_a_rank_is_none_of_a_host() -> None:
    reading = read("--- rank3 ---", ERROR, "--- rank4 ---", ERROR)

    given = {name for seen in reading.seen for match in seen.matches for name in _RULES.patterns[match.pattern].gives}
    assert "section" not in given
    assert rank_headings(reading, _RULES.patterns) == {1: 3, 3: 4}


def test_dumps_below_headings_are_those_of_their_ranks_though_their_threads_have_one_address() -> None:
    lines: list[str] = []
    for rank in range(3):
        lines += [f"===== rank {rank} =====", THREAD, '  File "/srv/app/train.py", line 12 in main', ""]
    reading = read(*lines)
    processes = StackReader(_RULES, _PREFIXES).read(reading, ("\n".join(lines).encode(),))

    assert [process.rank for process in processes] == [0, 1, 2]
    assert ranks(reading, THREAD) == [0, 1, 2]


def test_dumps_of_several_processes_without_a_pid_are_told_apart() -> None:
    lines: list[str] = []
    for index in range(3):
        lines += [THREAD.replace("4740", f"474{index}"), '  File "/srv/app/train.py", line 12 in main', ""]
    reading = read(*lines)
    StackReader(_RULES, _PREFIXES).read(reading, ("\n".join(lines).encode(),))

    pids = [seen.line.pid for seen in reading.seen if "most recent call first" in seen.line.text]
    assert len(set(pids)) == 3
    assert all(pid is not None and pid < 0 for pid in pids)


def test_lines_of_a_dump_carry_the_pid_of_its_process() -> None:
    lines: list[str] = []
    for pid in (42, 43):
        lines += [f"Process {pid}: python train.py", f'Thread {pid} (idle): "MainThread"', "    main (train.py:12)", ""]
    reading = read(*lines)
    StackReader(_RULES, _PREFIXES).read(reading, ("\n".join(lines).encode(),))

    assert {seen.line.pid for seen in reading.seen} == {42, 43}
    assert [seen.line.pid for seen in reading.seen if seen.line.number in (2, 6)] == [42, 43]
