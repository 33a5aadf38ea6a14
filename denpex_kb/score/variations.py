"""Variations of the sample inputs: what changes from one run to the next must not change the answer.

Other hosts, paths, numbers and ranks, a launcher's prefix, a cut at either end, lines of somebody else in between: the
answer stays. Where the telling lines are gone, or a cut took them, it becomes unsure, and names no other failure.
An entry that was learnt by heart from its samples fails here.
"""

from __future__ import annotations

import random
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from denpex_kb.api import KnowledgeBase
from denpex_kb.model.diagnosis import Diagnosis

Files = dict[str, list[str]]  # name → lines, without their ends
Telling = dict[str, frozenset[int]]  # name → indices of the lines that any signature of the entry matches


class Given(Struct, frozen=True):
    """What a variation is made from."""

    chance: random.Random
    files: Files
    telling: Telling


Change = Callable[[Given], "Files | None"]

SILENCED = "silenced"  # the telling lines are gone
_RANK = re.compile(r"(\[rank|\[Rank |\b[Rr]ank[ :=]{1,2})(\d{1,4})(?!\d)")
_HOST = re.compile(
    r"\b(?:node|gpu|host|worker|dgx|compute|hgx|trn|nid|h100|a100|cn|gn)[-_]?\d{1,5}(?:-\d{1,4})?\b(?![:.]py)"
)
_HOME = re.compile(r"(?<![\w/.])/(?:home|data|workspace|mnt|scratch|users|opt|app|lustre|fsx|root|work)/[\w.-]+")
_PYTHON = re.compile(r"/python3\.\d{1,2}/")
_PLACE = re.compile(r'(\.(?:py|cpp|cc|cu|cuh|h|hpp|go)(?:", line |:))(\d{1,5})(?!\d)')
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,16}\b")
_PREFIXED = re.compile(
    r"^(?:\[(?:default|trainer)\d|\[[\w.-]+:\d+\]:|\[\d+(?:,\d+)?\]|\s{0,7}\d{1,5}: |[\w.-]+\d[\w.-]*: )"
)
_OWN_RANK = re.compile(r"\[rank(\d{1,4})\]:")
_KEPT = re.compile(
    r"Error|Exception|Traceback|File \"|^\s|exit|signal|rank|step|iter|epoch|World|world|version", re.IGNORECASE
)
# Lines of other parties, as many a run prints them; none is the sign of anything.
NOISE = (
    "INFO:root:tokenizer loaded, vocabulary of 32000 entries",
    "wandb: Tracking run with wandb version 0.19.8",
    "[INFO|configuration_utils.py:765] loading configuration file config.json",
    "Using the latest cached version of the dataset since it could not be refreshed",
    "2026-11-30 21:14:03,218 - trainer - INFO - learning rate warm-up over 500 updates",
    "Filter: keeping 48213 of 50000 samples",
    "warnings.warn(",
    "The tokenizer has new PAD/BOS/EOS tokens that differ from the model config.",
)


Became = Literal["right", "unsure", "wrong"]


class Outcome(Struct, frozen=True):
    """What became of one variation."""

    entry: str
    sample: str
    kind: str
    became: Became
    answer: str  # an entry, or the verdict where none was recognised


def _each(change: Callable[[str], str]) -> Callable[[Files], Files]:
    return lambda files: {name: [change(line) for line in lines] for name, lines in files.items()}


def other_ranks(given: Given) -> Files | None:
    """Exchange the ranks above 0 for one another; rank 0 often has a part of its own."""
    if len(given.files) > 1:
        return None  # their names tell the ranks
    ranks = sorted(
        {match.group(2) for lines in given.files.values() for line in lines for match in _RANK.finditer(line)}
    )
    moved = [rank for rank in ranks if int(rank)]
    if len(moved) < 2:
        return None
    to = moved[1:] + moved[:1]
    table = dict(zip(moved, to, strict=True))
    return _each(lambda line: _RANK.sub(lambda m: m.group(1) + table.get(m.group(2), m.group(2)), line))(given.files)


def other_hosts(given: Given) -> Files | None:
    """Rename the machines, each to the same new name everywhere."""
    names: dict[str, str] = {}

    def renamed(match: re.Match[str]) -> str:
        return names.setdefault(match.group(0), f"cn{given.chance.randint(100, 999)}")

    changed = _each(lambda line: _HOST.sub(renamed, line))(given.files)
    return changed if names else None


def other_paths(given: Given) -> Files | None:
    """Move homes and environments elsewhere, with another minor release of Python."""
    names: dict[str, str] = {}
    python = f"/python3.{given.chance.choice((10, 11, 12, 13))}/"

    def moved(match: re.Match[str]) -> str:
        return names.setdefault(match.group(0), f"/srv/t{given.chance.randint(10, 99)}/u{len(names)}")

    changed = _each(lambda line: _PYTHON.sub(python, _HOME.sub(moved, line)))(given.files)
    return changed if changed != given.files else None


def other_numbers(given: Given) -> Files | None:
    """Move the lines of the sources, as every release does, and the addresses."""
    shift = given.chance.randint(3, 40)

    def changed(line: str) -> str:
        line = _PLACE.sub(lambda m: f"{m.group(1)}{int(m.group(2)) + shift}", line)
        return _ADDRESS.sub(lambda _: f"0x7f{given.chance.getrandbits(40):010x}", line)

    result = _each(changed)(given.files)
    return result if result != given.files else None


def cut_head(given: Given) -> Files | None:
    """Begin a few lines before the first telling one, as `tail` leaves it."""
    if not any(given.telling.values()):
        return None
    cut = {name: max(0, min(given.telling[name], default=0) - given.chance.randint(0, 3)) for name in given.files}
    return {name: lines[cut[name] :] for name, lines in given.files.items()} if any(cut.values()) else None


def cut_tail(given: Given) -> Files | None:
    """End a few lines behind the last telling one."""
    if not any(given.telling.values()):
        return None
    spare = given.chance.randint(0, 2)
    cut = {name: max(given.telling[name], default=len(lines)) + 1 + spare for name, lines in given.files.items()}
    result = {name: lines[: cut[name]] for name, lines in given.files.items()}
    return result if result != given.files else None


def _labelled(label: Callable[[int], str]) -> Change:
    def change(given: Given) -> Files | None:
        if len(given.files) > 1 or any(_PREFIXED.match(line) for lines in given.files.values() for line in lines):
            return None
        rank = 0
        result: Files = {}
        for name, lines in given.files.items():
            result[name] = []
            for line in lines:
                own = _OWN_RANK.match(line)
                result[name].append(label(int(own.group(1)) if own else rank) + line)
        return result

    return change


def interleaved(given: Given) -> Files | None:
    """Put lines of another rank in between, where the lines say whose they are."""
    if not any(_OWN_RANK.match(line) for lines in given.files.values() for line in lines):
        return None
    ranks = {int(m.group(1)) for lines in given.files.values() for line in lines if (m := _OWN_RANK.match(line))}
    other = given.chance.choice(sorted(ranks))
    result: Files = {}
    for name, lines in given.files.items():
        result[name] = []
        for line in lines:
            if given.chance.random() < 0.3 and _OWN_RANK.match(line):
                result[name].append(f"[rank{other}]: {given.chance.choice(NOISE)}")
            result[name].append(line)
    return result


def added(given: Given) -> Files | None:
    """Put unrelated lines between the blocks."""
    result: Files = {}
    for name, lines in given.files.items():
        result[name] = []
        for before, line in zip(["", *lines], lines, strict=False):
            border = not re.match(r"\s|$", line) and not re.match(r"\s|.*Traceback", before)
            if border and given.chance.random() < 0.4:
                result[name].append(given.chance.choice(NOISE))
            result[name].append(line)
    return result


def dropped(given: Given) -> Files | None:
    """Leave out some lines that say nothing."""
    result = {
        name: [
            line
            for number, line in enumerate(lines)
            if number in given.telling[name] or _KEPT.search(line) or given.chance.random() > 0.4
        ]
        for name, lines in given.files.items()
    }
    return result if result != given.files else None


def silenced(given: Given) -> Files | None:
    """Take the telling lines out."""
    if not any(given.telling.values()):
        return None  # told by relations and facts alone
    left = {
        name: [line for n, line in enumerate(lines) if n not in given.telling[name]]
        for name, lines in given.files.items()
    }
    left = {name: lines for name, lines in left.items() if any(line.strip() for line in lines)}
    return left or None


def alone(given: Given) -> Files | None:
    """Keep nothing but the telling lines, as somebody pastes them."""
    left = {
        name: [line for number, line in enumerate(lines) if number in given.telling[name]]
        for name, lines in given.files.items()
    }
    left = {name: lines for name, lines in left.items() if lines}
    return left or None


CHANGES: Mapping[str, Change] = {
    "ranks": other_ranks,
    "hosts": other_hosts,
    "paths": other_paths,
    "numbers": other_numbers,
    "cut-head": cut_head,
    "cut-tail": cut_tail,
    "tee": _labelled(lambda rank: f"[default{rank % 8}]:"),
    "srun": _labelled(lambda rank: f"{rank:>2}: "),
    "interleaved": interleaved,
    "added": added,
    "dropped": dropped,
    "alone": alone,
    SILENCED: silenced,
}
# Of these the launcher puts its label before the lines of the workers only.
_UNLABELLED = {"tee": ("kernel", "scheduler", "launcher", "config"), "srun": ("kernel", "scheduler", "config")}


def positives(folder: Path) -> Iterator[Path]:
    """Go through the positive samples of an entry's folder."""
    yield from sorted(folder.glob("positive-*"))


def vary(kb: KnowledgeBase, entry_id: str, sample: Path, seed: int, kinds: Sequence[str] = ()) -> Iterator[Outcome]:
    """Diagnose the variations of one positive sample.

    Args:
        kb: the knowledge base.
        entry_id: the entry that the sample is a positive of.
        sample: a file, or a folder with a file per rank.
        seed: with the entry and the kind it determines the variation.
        kinds: which of `CHANGES`; all when empty.
    """
    files = _read(sample)
    telling, where = _telling(kb, entry_id, files)
    for kind in kinds or CHANGES:
        if where & set(_UNLABELLED.get(kind, ())):
            continue
        chance = random.Random(f"{seed} {entry_id} {sample.name} {kind}")  # noqa: S311  reproducible, not secret
        varied = CHANGES[kind](Given(chance, files, telling))
        if varied is None:
            continue
        diagnosis = _diagnose(kb, sample, varied)
        best = diagnosis.hypotheses[0].id if diagnosis.recognised else None
        became: Became = "right" if best == entry_id else "unsure" if _unsure(kb, diagnosis) else "wrong"
        yield Outcome(entry_id, sample.name, kind, became, best or diagnosis.verdict)


def _unsure(kb: KnowledgeBase, diagnosis: Diagnosis) -> bool:
    """Say whether a diagnosis keeps from naming one failure: the kind, or what followed, it may."""
    if not diagnosis.recognised or diagnosis.verdict == "ambiguous":
        return True
    best = kb.entry(diagnosis.hypotheses[0].id)
    return best.meta.standing != "specific" or best.meta.role == "collateral"


def _read(sample: Path) -> Files:
    paths = [sample] if sample.is_file() else sorted(path for path in sample.rglob("*") if path.is_file())
    return {
        "" if path == sample else str(path.relative_to(sample)): path.read_bytes()
        .decode("utf-8", "replace")
        .splitlines()
        for path in paths
    }


def _telling(kb: KnowledgeBase, entry_id: str, files: Files) -> tuple[Telling, set[str]]:
    signatures = {signature.name: signature for signature in kb.entry(entry_id).meta.signatures}
    telling: Telling = {}
    where: set[str] = set()
    for name, lines in files.items():
        found = kb.signatures_in("\n".join(lines)).get(entry_id, {})
        telling[name] = frozenset(number - 1 for numbers in found.values() for number in numbers)
        where |= {signatures[signature].where for signature in found}
    return telling, where


def _diagnose(kb: KnowledgeBase, sample: Path, files: Files) -> Diagnosis:
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / sample.name
        for name, lines in files.items():
            path = root / name if name else root
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return kb.diagnose(root)
