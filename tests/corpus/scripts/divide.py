#!/usr/bin/env python3
"""Add captured cases to dev/ and held-out/: a third of each family is set aside, before anything is scored.

Within a family (hub of the first expected entry) the new runs are ordered by a hash of a fixed seed and their name; the
first ones go to the held-out part until a third of the family, old and new together, lies there; their scripts, which tell
the answer, move there with them. Cases that have been placed stay where they are. Usage: divide.py CAPTURED [FAILURES.jsonl] [ID ...]
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections import defaultdict
from pathlib import Path

CORPUS = Path(__file__).parent.parent
CATALOG = CORPUS.parent.parent / "catalog"
SEED = "denpex provoked 1|"


def hubs(more: list[Path]) -> dict[str, str]:
    """The hub of every entry, from where its file lies; of failures without an entry, from lists of `id` and `hub`."""
    rows = [json.loads(line) for path in more for line in path.read_text().splitlines()]
    return {row["id"]: row["hub"] for row in rows} | {path.stem: path.parent.name for path in CATALOG.glob("*/*.md")}


def main() -> None:
    """Place every new case, and print how many went where in each family."""
    captured, words = Path(sys.argv[1]), sys.argv[2:]
    hub_of = hubs([Path(word) for word in words if word.endswith(".jsonl")])
    wanted = {word for word in words if not word.endswith(".jsonl")}
    parts = {part: [json.loads(line) for line in (CORPUS / part / "cases.jsonl").read_text().splitlines()] for part in ("dev", "held-out")}
    placed = {case["id"] for cases in parts.values() for case in cases}
    side = {case["run"]: part for part, cases in parts.items() for case in cases}
    new = defaultdict(lambda: defaultdict(list))
    for path in sorted((captured / "labels").glob("*.json")):
        case = json.loads(path.read_text())
        if case["id"] in placed or (wanted and case["id"] not in wanted):
            continue
        first = case["expect"][0]
        case["family"] = {"NONE": "none", "STALLED": "stalled"}.get(first) or hub_of[first]
        if not case["evidence_text"]:
            raise SystemExit(f"{path}: no evidence in the input")
        case["run"] = "provoked:" + case.pop("same_run_as", case["id"])
        new[case["family"]][case["run"]].append(case)
    split = json.loads((CORPUS / "split.json").read_text())
    (CORPUS / "held-out" / "scripts").mkdir(exist_ok=True)
    for family, runs in sorted(new.items()):
        dev, held = (sum(case["family"] == family for case in parts[part]) for part in ("dev", "held-out"))
        aside = max(0, round((dev + held + sum(map(len, runs.values()))) / 3) - held)
        order = sorted(runs, key=lambda run: hashlib.sha256((SEED + run).encode()).hexdigest())
        counts = {"dev": 0, "held-out": 0}
        for run in sorted(order, key=lambda run: run not in side):  # a run that has a side keeps it
            part = side.get(run) or ("held-out" if counts["held-out"] + len(runs[run]) <= aside else "dev")
            for case in runs[run]:
                counts[part] += 1
                parts[part].append(case)
                source, target = captured / case["input"], CORPUS / part / case["input"]
                shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
        print(f"{family}: {counts['dev']} dev, {counts['held-out']} held out")
    for case in parts["held-out"]:
        script = CORPUS / case.get("script", "") if case.get("origin") == "provoked" else None
        if script and script.exists():
            script.rename(CORPUS / "held-out" / "scripts" / script.name)
    for part, cases in parts.items():
        with (CORPUS / part / "cases.jsonl").open("a") as book:
            book.writelines(json.dumps(case, ensure_ascii=False) + "\n" for case in cases if case["id"] not in placed)
    split["held_out"] = sorted(case["id"] for case in parts["held-out"])
    split["rule_provoked"] = "the same for the cases with a script in scripts/, in the order of sha256('" + SEED + "' + run), to a third of the family"
    (CORPUS / "split.json").write_text(json.dumps(split, indent=1) + "\n")


if __name__ == "__main__":
    main()
