"""Fill the README's examples and figures with what the program prints: `python benchmarks/readme.py [--check]`.

Everything between `<!-- begin NAME -->` and `<!-- end NAME -->` is replaced. `--check` writes nothing and ends with 1
where an example of the command line differs; figures, which differ from machine to machine, are not compared.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXAMPLES = {
    "ask": ["ask", "hang first forward mixtral zero3"],
    "diagnose": ["diagnose", "tests/corpus/dev/inputs/multinode-rank3-error-node1"],
    "chat": ["chat", "--script", "tests/chat/answers.txt"],
    "check": ["check", "tests/check/projects/moe-zero3"],
}
FIGURES = {
    "score": [sys.executable, "-m", "denpex_kb", "kb", "score", "tests/corpus"],
    "scale": [
        *(sys.executable, "-m", "tests.scale", "--count", "200"),
        *("--sizes", "64", "128", "256", "1024", "--seed", "31", "--quiet"),
    ],
    "talk": [sys.executable, "benchmarks/chat.py"],
    "speed": [sys.executable, "benchmarks/ask.py"],
    "scan": [sys.executable, "benchmarks/scan.py"],
}
COLUMNS = "100"


def printed(command: list[str]) -> str:
    """Run a command in the checkout and return what it prints."""
    environment = {**os.environ, "COLUMNS": COLUMNS, "NO_COLOR": "1"}
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    return ran.stdout.rstrip()


def example(name: str) -> str:
    """Return an example as a console block."""
    arguments = EXAMPLES[name]
    shown = " ".join(f'"{part}"' if " " in part else part for part in arguments)
    return f"```console\n$ denpex {shown}\n{printed([sys.executable, '-m', 'denpex_kb', *arguments])}\n```"


def figure(name: str) -> str:
    """Return a figure's table as a block."""
    text = printed(FIGURES[name]).split("\n\n")[0]
    return f"```\n{text}\n```"


def replaced(text: str, name: str, content: str) -> str:
    """Put content between the marks of a name."""
    shape = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
    if not shape.search(text):
        raise SystemExit(f"README.md has no marks for {name}")
    return shape.sub(lambda match: match.group(1) + content + "\n" + match.group(2), text)


def main() -> None:
    path = ROOT / "README.md"
    text = path.read_text(encoding="utf-8")
    fresh = text
    for name in EXAMPLES:
        fresh = replaced(fresh, name, example(name))
    if "--check" in sys.argv:
        if fresh != text:
            print("README.md: the examples differ from what the program prints; run python benchmarks/readme.py")
            raise SystemExit(1)
        return
    for name in FIGURES:
        fresh = replaced(fresh, name, figure(name))
    path.write_text(fresh, encoding="utf-8")


if __name__ == "__main__":
    main()
