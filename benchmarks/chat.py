"""How many questions lead to the answer: `python benchmarks/chat.py` plays users over the labelled development cases.

Of each case's input about half of the telling lines (those that its label cites) are taken out; a question is asked as
it is. The user then answers truthfully from the whole input: facts that it states, and whether a line that is asked
about stands in it; a fifth of the answers is "don't know". Printed are the questions until the right entry is the
answer and stays it, the share of cases in which it is in the end, and how often a conversation ended sure of a wrong
one.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from denpex_kb import KnowledgeBase
from denpex_kb.chat.asking import Question
from denpex_kb.chat.conversation import Conversation
from denpex_kb.chat.told import Sign
from denpex_kb.errors import DenpexError
from denpex_kb.match.evidence import collect_hits
from denpex_kb.model.conditions import spell
from denpex_kb.pipeline.logs import LogDiagnoser

ROOT = Path(__file__).parents[1]
UNSURE = 0.2  # of the answers are "don't know"
MOST = 8  # questions after which a user has had enough
_SHORTEST = 12  # characters by which a telling line is recognised


class Labelled(msgspec.Struct, frozen=True, kw_only=True):
    """What is needed of a case."""

    id: str
    form: str
    input: str
    expect: tuple[str, ...]
    also_ok: tuple[str, ...] = ()
    evidence: str | None = None
    evidence_text: str | None = None


class Full(NamedTuple):
    """What the user knows: the facts of the whole input and the signatures that match it."""

    facts: dict[str, list[str]]
    lines: frozenset[tuple[str, str]]


class Played(NamedTuple):
    """How a conversation went."""

    case: str
    needed: int | None  # questions until the right entry was the answer for good
    asked: int
    sure: bool
    right: bool
    answer: str
    removed: int


def read_files(path: Path) -> dict[str, str]:
    """Return the files of an input by name."""
    files = [path] if path.is_file() else sorted(item for item in path.rglob("*") if item.is_file())
    return {
        str(file.relative_to(path) if file != path else file.name): file.read_bytes().decode("latin-1")
        for file in files
    }


def telling(case: Labelled) -> list[str]:
    """Return the texts by which the label's telling lines are recognised."""
    texts = [part.strip() for part in (case.evidence or "").split(" || ")] + [(case.evidence_text or "").strip()]
    return [text[:80] for text in dict.fromkeys(texts) if len(text) >= _SHORTEST]


def thinned(
    case: Labelled, files: dict[str, str], cited: list[str], chance: random.Random
) -> tuple[dict[str, str], int]:
    """Take about half of the telling lines out; the same text goes from every rank at once.

    Args:
        case: the labelled case.
        files: its files.
        cited: lines that the whole input's diagnosis cites, for labels that describe rather than quote.
        chance: decides.
    """
    held = [text for text in telling(case) if any(text in content for content in files.values())]
    marks = held or list(dict.fromkeys(text[:80] for text in cited if len(text) >= _SHORTEST))
    gone = [text for text in marks if chance.random() < 0.5]
    removed = 0
    left: dict[str, str] = {}
    for name, content in files.items():
        lines = content.split("\n")
        kept = [line for line in lines if not any(text in line for text in gone)]
        removed += len(lines) - len(kept)
        left[name] = "\n".join(kept)
    return left, removed


def full_knowledge(logs: LogDiagnoser, kb: KnowledgeBase, path: Path) -> Full:
    """Read the whole input as the user knows it."""
    examined = logs.examine([path], {})
    facts: dict[str, list[str]] = {}
    for fact in examined.pieces[-1].cases[0].grounds.facts:
        facts.setdefault(fact.name, []).append(spell(fact.value))
    hits = collect_hits((seen for reading in examined.readings for seen in reading.seen), kb.index.rules)
    return Full(facts, frozenset((entry, name) for entry, names in hits.items() for name in names))


def reply(question: Question, full: Full, chance: random.Random) -> str:
    """Answer as a truthful user does, who does not know everything."""
    if chance.random() < UNSURE:
        return "d"
    if question.kind == "lines":
        seen = [
            choice.key
            for choice in question.choices
            if isinstance(choice.value, Sign) and (choice.value.entry, choice.value.name) in full.lines
        ]
        return " ".join(seen) or "none"
    values = full.facts.get(question.fact)
    if not values:
        return "d"
    if question.kind == "version":
        return values[0]
    named = [choice.key for choice in question.choices if choice.value is not None and _spelt(choice.value) in values]
    return named[0] if named else "d"


def _spelt(value: object) -> str:
    return spell(value) if isinstance(value, str | int | bool) else ""


def answer_of(talk: Conversation) -> str:
    """Return the entry that is the answer now."""
    diagnosis = talk.case.diagnosis
    return diagnosis.hypotheses[0].id if diagnosis.recognised else diagnosis.verdict


def play(
    talk: Conversation, first: str, full: Full, right: frozenset[str], chance: random.Random, name: str, removed: int
) -> Played:
    """Play one conversation to its end."""
    said = talk.say(first)
    if said.trouble:
        raise DenpexError(said.note)
    answers = [answer_of(talk)]
    while talk.question is not None and len(answers) <= MOST:
        talk.say(reply(talk.question, full, chance))
        answers.append(answer_of(talk))
    is_right = [answer in right for answer in answers]
    needed = None
    if is_right[-1]:
        needed = len(is_right) - next((back for back, ok in enumerate(reversed(is_right)) if not ok), len(is_right))
    return Played(name, needed, len(answers) - 1, talk.sure, is_right[-1], answers[-1], removed)


def corpus(kb: KnowledgeBase, seed: int, work: Path) -> Iterator[Played]:
    """Play the development part."""
    folder = ROOT / "tests" / "corpus" / "dev"
    logs = LogDiagnoser(kb.index)
    known = frozenset(kb.index.ids())
    for line in (folder / "cases.jsonl").read_text(encoding="utf-8").splitlines():
        case = msgspec.json.decode(line, type=Labelled)
        right = frozenset((*case.expect, *case.also_ok)) & known
        if not right:
            continue  # nothing failed, or no entry names it
        chance = random.Random(f"{seed} {case.id}")
        talk = Conversation(kb.index)
        try:
            if case.form == "query":
                yield play(talk, case.input, Full({}, frozenset()), right, chance, case.id, 0)
                continue
            path = folder / case.input
            diagnosis = kb.diagnose(path)
            cited = [item.text for hypothesis in diagnosis.hypotheses[:1] for item in hypothesis.evidence if item.file]
            files, removed = thinned(case, read_files(path), cited, chance)
            target = work / case.id
            for name, content in files.items():
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                (target / name).write_bytes(content.encode("latin-1"))
            start = target if path.is_dir() else target / path.name
            yield play(talk, str(start), full_knowledge(logs, kb, path), right, chance, case.id, removed)
        except DenpexError as error:
            yield Played(case.id, None, 0, False, False, f"error: {error}", 0)


def questions(kb: KnowledgeBase, seed: int) -> Iterator[Played]:
    """Play the questions of the tests; what the user sees is a sample of the entry that is meant."""
    import yaml

    logs = LogDiagnoser(kb.index)
    for name in ("central", "lookalikes", "common"):
        for item in yaml.safe_load((ROOT / "tests" / "questions" / f"{name}.yaml").read_text(encoding="utf-8")):
            right = frozenset(item["expect"])
            samples = list((ROOT / "catalog").glob(f"*/{item['expect'][0]}/positive-*"))
            if not samples:
                continue
            chance = random.Random(f"{seed} {item['q']}")
            full = full_knowledge(logs, kb, min(samples))
            yield play(Conversation(kb.index), item["q"], full, right, chance, item["q"], 0)


def table(groups: dict[str, list[Played]]) -> str:
    """Write the figures of all groups side by side."""
    rows: list[tuple[str, list[str]]] = [("", list(groups))]
    for label, figure in FIGURES.items():
        rows.append((label, [figure(played) for played in groups.values()]))
    width = max(len(label) for label, _ in rows) + 2
    return "\n".join(label.ljust(width) + "".join(cell.ljust(22) for cell in cells).rstrip() for label, cells in rows)


def _share(hits: int, of: int) -> str:
    return f"{hits / of:6.1%} {hits}/{of}" if of else "none"


def _mean(values: list[int]) -> str:
    return f"{statistics.mean(values):.2f}" if values else "none"


FIGURES: dict[str, Callable[[list[Played]], str]] = {
    "conversations": lambda played: str(len(played)),
    "right entry at once": lambda played: _share(sum(item.needed == 0 for item in played), len(played)),
    "right entry in the end": lambda played: _share(sum(item.needed is not None for item in played), len(played)),
    "questions until then, mean": lambda played: _mean([item.needed for item in played if item.needed is not None]),
    "  where any was needed": lambda played: _mean([item.needed for item in played if item.needed]),
    "sure of the right one": lambda played: _share(sum(item.sure and item.right for item in played), len(played)),
    "sure of a wrong one": lambda played: str(sum(item.sure and not item.right for item in played)),
    "  led there by questions": lambda played: str(
        sum(bool(item.sure and not item.right and item.asked) for item in played)
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="print every conversation that did not reach the answer")
    arguments = parser.parse_args()
    kb = KnowledgeBase.open()
    with tempfile.TemporaryDirectory() as work:
        played = list(corpus(kb, arguments.seed, Path(work)))
    asked = list(questions(kb, arguments.seed))
    thinner = [item for item in played if item.removed]
    print(table({"dev cases": played, "of these, thinned": thinner, "questions in words": asked}))
    if arguments.list:
        for item in (*played, *asked):
            if item.needed is None or (item.sure and not item.right):
                how = f"{item.answer}{' (sure)' if item.sure else ''}, asked {item.asked}, removed {item.removed}"
                print(f"  {item.case[:90]}: {how}")


if __name__ == "__main__":
    main()
