"""How fast is a log: `python benchmarks/scan.py` prints ratios, `--json` the same for programs.

A made-up log of a job of 64 ranks is diagnosed as a whole process, and ripgrep looks for the same patterns in it, in
turn. Both are single measurements of whole processes; the least of several runs counts, for other work on the machine
only adds to it. ripgrep runs with `--no-unicode`: the patterns are about bytes, and with Unicode classes it takes more
than 20 GB for them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from joblog import write_folder, write_log

from denpex_kb import KnowledgeBase
from denpex_kb.index.scandb import compile_database, scanned
from denpex_kb.model.events import Origin
from denpex_kb.model.rules import RuleSet
from denpex_kb.read.ahead import in_processes
from denpex_kb.read.files import read_chunks
from denpex_kb.read.prefixes import PrefixReader
from denpex_kb.read.scan import Scanner
from denpex_kb.read.text import clean
from denpex_kb.read.timestamps import TimeReader

DENPEX = [sys.executable, "-m", "denpex_kb", "diagnose", "--quiet"]
RIPGREP = ["rg", "-a", "-c", "--no-unicode", "--regex-size-limit", "4G", "--dfa-size-limit", "4G", "-f"]
_MOST_MEMORY = 12 << 30
_ESCAPED = re.compile(r"\\([^\w\s])")
_META = r"\.+*?()|[]{}^$#&-~"

Cost = tuple[float, float, int]  # wall seconds, CPU seconds, peak bytes


def run(command: Sequence[str]) -> Cost:
    """Run a command to its end."""
    began = time.perf_counter()
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise SystemExit(f"{command[0]} failed: {said.decode(errors='replace')[-300:]}")
    return time.perf_counter() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10


def least(commands: Sequence[Sequence[str]], runs: int) -> list[Cost]:
    """Run several commands in turn, and return the least of each figure."""
    costs = [[run(command) for command in commands] for _ in range(runs)]
    return [
        (min(row[at][0] for row in costs), min(row[at][1] for row in costs), min(row[at][2] for row in costs))
        for at in range(len(commands))
    ]


def for_ripgrep(pattern: str) -> str:
    """Write a pattern without the escapes that ripgrep refuses."""
    return _ESCAPED.sub(lambda match: match[0] if match[1] in _META else match[1], pattern)


def cpu(work: Callable[[], object], runs: int) -> float:
    """Return the least CPU seconds of some work in this process."""
    spent = []
    for _ in range(runs):
        before = time.process_time()
        work()
        spent.append(time.process_time() - before)
    return min(spent)


def wall(work: Callable[[], object], runs: int) -> float:
    """Return the least seconds of some work in this process."""
    spent = []
    for _ in range(runs):
        before = time.perf_counter()
        work()
        spent.append(time.perf_counter() - before)
    return min(spent)


def measure(folder: Path, size: int, runs: int) -> dict[str, float]:
    """Measure everything."""
    kb = KnowledgeBase.open()
    rules = kb.index.rules
    large, small, many, patterns = folder / "large.log", folder / "small.log", folder / "ranks", folder / "patterns"
    write_log(large, size)
    write_log(small, size // 8)
    write_folder(many, 1024)
    chosen = [pattern for pattern in rules.patterns if scanned(pattern)]
    patterns.write_text("\n".join(for_ripgrep(pattern.pattern) for pattern in chosen) + "\n", encoding="utf-8")
    found: dict[str, float] = {"bytes": large.stat().st_size, "signatures": len(chosen)}

    ours, ripgrep, eighth = least(
        [[*DENPEX, str(large)], [*RIPGREP, str(patterns), str(large)], [*DENPEX, str(small)]], runs
    )
    found |= {"wall_s": ours[0], "cpu_s": ours[1], "ripgrep_wall_s": ripgrep[0], "ripgrep_cpu_s": ripgrep[1]}
    found |= {"wall_to_ripgrep": ours[0] / ripgrep[0], "cpu_to_ripgrep": ours[1] / ripgrep[1]}
    found["peak_mib"] = ours[2] / (1 << 20)
    nothing = run([*DENPEX, str(many / "rank0.log")])[1]
    found["eightfold_cpu"] = (ours[1] - nothing) / (eighth[1] - nothing)
    found["ranks_1024_s"] = least([[*DENPEX, str(many)]], runs)[0][0]

    prefixes, times = PrefixReader(kb.index.kb.prefixes), TimeReader(kb.index.kb.times)

    def scan_with(count: int) -> float:
        few = RuleSet(rules.rules, tuple(chosen[:: max(len(chosen) // count, 1)][:count]))
        scanner = Scanner(few, compile_database(few.patterns, kb.index.kb.common), prefixes, times)
        return cpu(lambda: scanner.scan(read_chunks(small, []), Origin("a.log")), runs)

    found["signatures_1500_to_100"] = scan_with(1500) / scan_with(100)
    scanner = Scanner(rules, kb.index.database, prefixes, times)
    alone = wall(lambda: scanner.scan(read_chunks(small, []), Origin("a.log")), runs)
    with in_processes(scanner, clean, 2) as ahead:
        found["two_workers"] = alone / wall(lambda: scanner.scan(read_chunks(small, []), Origin("a.log"), ahead), runs)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=1024, help="MiB of the log")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    wanted = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))  # of the processes started here as well
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), wanted.size << 20, wanted.runs)
    if wanted.json:
        print(json.dumps({name: round(value, 3) for name, value in found.items()}))
        return
    print(
        f"{found['bytes'] / (1 << 20):.0f} MiB of 64 ranks, {found['signatures']:.0f} signatures, whole processes:\n"
        f"denpex diagnose {found['wall_s']:.2f} s ({found['cpu_s']:.2f} s CPU), ripgrep "
        f"{found['ripgrep_wall_s']:.2f} s ({found['ripgrep_cpu_s']:.2f} s CPU)\n"
        f"to ripgrep: {found['wall_to_ripgrep']:.2f} of its time, {found['cpu_to_ripgrep']:.2f} of its CPU time\n"
        f"peak memory: {found['peak_mib']:.0f} MiB\n"
        f"eight times the log: {found['eightfold_cpu']:.1f} times the CPU time\n"
        f"1,500 signatures to 100: {found['signatures_1500_to_100']:.2f} times the CPU time of the scan\n"
        f"two workers: {found['two_workers']:.2f} times as fast\n"
        f"1,024 small files: {found['ranks_1024_s']:.1f} s"
    )


if __name__ == "__main__":
    main()
