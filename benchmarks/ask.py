"""How fast is a question: `python benchmarks/ask.py` prints ratios and medians.

- cold: CPU time of `denpex ask` as a whole process, against an empty Typer program on the same machine, in pairs;
- warm: wall time of `.ask()` in a running process;
- compile: wall and CPU time of compiling the catalog.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

QUESTION = "hang first forward mixtral zero3"
EMPTY = "import typer\napp = typer.Typer()\n\n\n@app.command()\ndef main() -> None:\n    pass\n\n\napp()\n"


def cpu_seconds(command: list[str]) -> float:
    """Return user plus system seconds of one finished process."""
    # as installed: without byte code of its own, each run would compile Denpex's modules, and not those of Typer
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return usage.ru_utime + usage.ru_stime


def paired(first: Callable[[], float], second: Callable[[], float], runs: int) -> tuple[float, float, float]:
    """Return the medians of both and of their ratio, pair by pair, after one warm-up."""
    first(), second()
    pairs = [(first(), second()) for _ in range(runs)]
    return (
        statistics.median(left for left, _ in pairs),
        statistics.median(right for _, right in pairs),
        statistics.median(left / right for left, right in pairs),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=9, help="pairs to measure")
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "empty.py"
        program.write_text(EMPTY)
        ask, empty, ratio = paired(
            lambda: cpu_seconds([sys.executable, "-m", "denpex_kb", "ask", QUESTION]),
            lambda: cpu_seconds([sys.executable, str(program)]),
            runs,
        )
        print(f"cold ask: {ask * 1000:.0f} ms CPU, empty Typer program {empty * 1000:.0f} ms, ratio {ratio:.2f}")

        from denpex_kb import KnowledgeBase
        from denpex_kb.index.build import build_index
        from denpex_kb.index.places import public_sources

        kb = KnowledgeBase.open()
        kb.ask(QUESTION)
        times = []
        for _ in range(200):
            started = time.perf_counter()
            kb.ask(QUESTION)
            times.append(time.perf_counter() - started)
        print(f"warm ask: {statistics.median(times) * 1000:.2f} ms, 95th percentile {sorted(times)[189] * 1000:.2f} ms")

        spent = []
        for _ in range(3):
            before = time.perf_counter(), time.process_time()
            build_index(public_sources(), Path(folder) / "index.sqlite")
            spent.append((time.perf_counter() - before[0], time.process_time() - before[1]))
        size = f"{kb.index.size} entries, {len(kb.index.rules.patterns)} patterns"
        wall, cpu = (statistics.median(times) for times in zip(*spent, strict=True))
        print(f"compile: {wall:.2f} s ({cpu:.2f} s CPU, {cpu / empty:.1f} empty Typer programs) for {size}")


if __name__ == "__main__":
    main()
