"""Which patterns are dear: `python benchmarks/patterns.py` prints those that cost the scan most.

Each pattern is looked for alone in the log that `scan.py` uses. Most have a text that is rare and cost nearly nothing;
one that begins with a common word and goes on with `.{0,60}` can cost more than a thousand others. Write the rare word
first, or write the words that belong together without a gap.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path

from joblog import write_log

from denpex_kb import KnowledgeBase
from denpex_kb.index.scandb import compile_database, scanned
from denpex_kb.read.files import read_chunks
from denpex_kb.read.text import by_lines, clean, to_utf8


def _count(hits: Counter[int], pattern: int, *_place: object) -> None:
    hits[pattern] += 1


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=16, help="MiB of the log")
    parser.add_argument("--shown", type=int, default=20, help="patterns to print")
    options = parser.parse_args()
    kb = KnowledgeBase.open()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "job.log"
        write_log(log, options.size << 20)
        pieces = [clean(piece) for piece in by_lines(to_utf8(read_chunks(log, [])))]
    spent = []
    for pattern in filter(scanned, kb.index.rules.patterns):
        database = compile_database([pattern], kb.index.kb.common)
        hits: Counter[int] = Counter()
        before = time.process_time()
        for piece in pieces:
            database.scan(piece, match_event_handler=partial(_count, hits))
        spent.append((time.process_time() - before, hits.total(), pattern))
    print(f"CPU milliseconds on {options.size} MiB, lines that match, pattern ({len(spent)} measured)")
    for seconds, count, pattern in sorted(spent, key=lambda item: -item[0])[: options.shown]:
        print(f"{seconds * 1000:7.1f} {count:8} {pattern.owner} {pattern.name}: {pattern.pattern[:70]}")


if __name__ == "__main__":
    main()
