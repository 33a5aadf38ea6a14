"""Measure how well large multi-rank logs are read: `python -m tests.scale` writes them, and diagnoses them.

- `--count`, `--sizes`, `--seed`: how many logs, of how many ranks (a multiple of 8), which draw;
- `--scenario`, `--form`: only these; may be repeated (`--list` names them);
- `--keep FOLDER`: keep the logs, with `labels.jsonl`.

Of a third of the pairs of scenario and launcher (`set-aside.txt`) only the rates are told, and no log is kept.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import msgspec

from denpex_kb import KnowledgeBase
from tests.scale.grid import forms_of, setups
from tests.scale.layouts import FORMS
from tests.scale.measure import Result, measure, report
from tests.scale.parts import is_set_aside
from tests.scale.scenarios import SCENARIOS


def main() -> None:
    """Print the rates, and what went wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 128, 256, 512, 1024])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scenario", action="append", default=[], choices=sorted(SCENARIOS))
    parser.add_argument("--form", action="append", default=[], choices=sorted(FORMS))
    parser.add_argument("--keep", type=Path, help="a folder for the logs")
    parser.add_argument("--quiet", action="store_true", help="rates only")
    parser.add_argument("--list", action="store_true", help="name the scenarios and their forms")
    options = parser.parse_args()
    if options.list:
        for name, scenario in SCENARIOS.items():
            sys.stdout.write(f"{name}: {', '.join(forms_of(scenario))}\n")
        return
    kb = KnowledgeBase.open()
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        for setup in setups(options.count, options.sizes, options.seed, options.scenario, options.form):
            results.append(measure(kb, setup, Path(scratch) if is_set_aside(setup) else folder))
            sys.stderr.write(f"\r{len(results)}/{options.count} ")
        if options.keep:
            lines = b"\n".join(msgspec.json.encode(item) for item in results if not is_set_aside(item.setup))
            (folder / "labels.jsonl").write_bytes(lines + b"\n")
    sys.stderr.write("\n")
    sys.stdout.write(report(results, wrong=not options.quiet))


if __name__ == "__main__":
    main()
