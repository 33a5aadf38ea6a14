"""How long the site takes: a generated catalog, built cold, and again after one entry changed.

python benchmarks/site.py [--entries 600]
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]


def make_catalog(target: Path, wanted: int) -> Path:
    """Copy the public entries, samples included, under new ids until there are enough."""
    files = sorted((ROOT / "catalog").glob("*/*.md"))
    made = 0
    for copy in range(1 + wanted // len(files)):
        for path in files:
            if made == wanted:
                return target
            text = path.read_text(encoding="utf-8")
            name = path.stem if copy == 0 else f"{path.stem}-{copy}"
            folder = target / path.parent.name
            folder.mkdir(parents=True, exist_ok=True)
            text = text.replace(f"id: {path.stem}\n", f"id: {name}\n", 1)
            if copy:
                text = "\n".join(line for line in text.split("\n") if not line.startswith("aliases:"))
            (folder / f"{name}.md").write_text(text, encoding="utf-8")
            if (samples := path.with_suffix("")).is_dir():
                shutil.copytree(samples, folder / name)
            made += 1
    return target


def build(catalog: Path, output: Path, cache: Path) -> str:
    """Run `denpex site build` as a user does; returns its seconds (by the clock, and of processor) and what it said."""
    command = [sys.executable, "-m", "denpex_kb", "site", "build", "--only", "--catalog", str(catalog)]
    command += ["--output", str(output), "--no-search", "--base-url", "https://example.org"]
    environment = {
        **os.environ,
        "DENPEX_CACHE": str(cache),
        "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
    }
    started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=ROOT)
    seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return f"{seconds:.2f} s, {processor:.2f} s of processor ({done.stderr.strip().splitlines()[-1]})"


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, default=600)
    entries = parser.parse_args().entries
    with tempfile.TemporaryDirectory(prefix="denpex-site-") as name:
        work = Path(name)
        catalog = make_catalog(work / "catalog", entries)
        build(catalog, work / "warm-up", work / "cache")  # compiles Python, fills the page cache
        print(f"cold, {entries} entries:  {build(catalog, work / 'output', work / 'cache-cold')}")
        changed = sorted(catalog.glob("*/*.md"))[entries // 2]
        text = changed.read_text(encoding="utf-8")
        changed.write_text(text.replace("## Summary\n", "## Summary\nNew. ", 1), encoding="utf-8")
        print(f"one entry changed:  {build(catalog, work / 'output', work / 'cache-cold')}")
        print(f"nothing changed:    {build(catalog, work / 'output', work / 'cache-cold')}")


if __name__ == "__main__":
    main()
