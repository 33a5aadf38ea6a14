"""Does an entry know its failure or its samples: `python benchmarks/variations.py` varies every positive sample.

- the answer must stay with other ranks, hosts, paths and numbers, behind launchers' prefixes, cut at either end,
  with lines of others in between, with unrelated lines added or left out;
- `silenced`: without the telling lines it must become unsure (unknown, ambiguous, a generic entry, a consequence).
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path

from denpex_kb import KnowledgeBase
from denpex_kb.score.variations import CHANGES, SILENCED, Outcome, positives, vary

CATALOG = Path(__file__).parents[1] / "catalog"


def main() -> None:
    """Print the rates by kind, and what went wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", action="append", choices=sorted(CHANGES), help="only these; may be repeated")
    parser.add_argument("--entry", help="only this entry")
    parser.add_argument("--quiet", action="store_true", help="rates only")
    options = parser.parse_args()
    kb = KnowledgeBase.open()
    began = time.perf_counter()
    outcomes: list[Outcome] = []
    for path in sorted(CATALOG.glob("*/*.md")):
        if options.entry in (None, path.stem):
            for sample in positives(path.parent / path.stem):
                outcomes += vary(kb, path.stem, sample, options.seed, options.kind or ())
    counts = Counter((outcome.kind, outcome.became) for outcome in outcomes)
    print(f"{'':12} {'all':>5} {'right':>5} {'unsure':>6} {'wrong':>5}")
    for kind in CHANGES:
        right, unsure, wrong = (counts[kind, became] for became in ("right", "unsure", "wrong"))
        if right + unsure + wrong:
            print(f"{kind:12} {right + unsure + wrong:5} {right:5} {unsure:6} {wrong:5}")
    print(f"{len(outcomes)} variations in {time.perf_counter() - began:.0f} s, seed {options.seed}")
    if not options.quiet:
        for outcome in outcomes:
            if outcome.became == "wrong" or (outcome.became == "unsure" and outcome.kind != SILENCED):
                print(f"{outcome.became:6} {outcome.kind:12} {outcome.entry} {outcome.sample}: {outcome.answer}")


if __name__ == "__main__":
    main()
