"""How many questions lead to the answer: `python benchmarks/chat.py` plays users over the labelled cases.

Of each case's input about half of the telling lines (those that its label cites) are taken out; a question is asked as
it is. How the user answers is told in `chat_user.py`: from the whole of the input and the label's words. Printed are
the questions until the right entry is the answer and stays it, the share of cases in which it is in the end, and how
often a conversation ended with a wrong failure given as the answer: not "this kind of thing happened", nor "not sure".
Where nothing failed, every failure is a wrong one. Of the held-out part nothing is printed but figures. With
`--no-paste` the user can answer, but has no more of the output to hand in; with `--trusting` they know as well what the
catalog says of whoever has the failure, which is the most that questions of fact and of signs can bring.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from chat_user import Output, User, true_of

from denpex_kb import KnowledgeBase
from denpex_kb.chat.conversation import Conversation
from denpex_kb.errors import DenpexError
from denpex_kb.match.evidence import collect_hits
from denpex_kb.model.conditions import spell
from denpex_kb.pipeline.logs import LogDiagnoser

ROOT = Path(__file__).parents[1]
MOST = 8  # questions after which a user has had enough
_SHORTEST = 12  # characters by which a telling line is recognised


class Labelled(msgspec.Struct, frozen=True, kw_only=True):
    """What is needed of a case."""

    id: str
    truth: str = ""
    form: str
    input: str
    expect: tuple[str, ...]
    also_ok: tuple[str, ...] = ()
    evidence: str | None = None
    evidence_text: str | None = None


class Played(NamedTuple):
    """How a conversation went."""

    case: str
    needed: int | None  # questions until the right entry was the answer for good
    asked: int
    sure: bool  # a failure is given as the answer
    right: bool
    answer: str
    removed: int
    named: bool = False  # a failure stands first, certain or not
    whole: str = ""  # the answer to the whole output
    knowable: bool = False  # that answer is right


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


def thinned(case: Labelled, files: dict[str, str], cited: list[str], chance: random.Random) -> dict[str, Output]:
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
    left: dict[str, Output] = {}
    for name, content in files.items():
        lines = content.split("\n")
        kept = [number for number, line in enumerate(lines) if not any(text in line for text in gone)]
        left[name] = Output(tuple(lines), tuple(kept))
    return left


class Able(NamedTuple):
    """What users can do."""

    pastes: bool = True
    trusting: bool = False


def user_of(
    kb: KnowledgeBase,
    logs: LogDiagnoser,
    path: Path | None,
    right: Sequence[str],
    output: dict[str, Output],
    able: Able,
    truth: str = "",
) -> User:
    """Read the whole input as the user knows it, and the words of the label."""
    known: dict[str, list[str]] = {}
    if able.trusting:
        for name, values in true_of(kb.index.by_id[entry] for entry in right).items():
            known[name] = [spell(value) for value in values]
    said: dict[str, list[str]] = {"symptom": [kb.index.by_id[right[0]].kind]} if right else {}
    for concept in kb.index.reader.read(truth, known=kb.index.terms).concepts:
        said.setdefault(concept.fact, []).append(spell(concept.value))
    stated: dict[str, list[str]] = {}
    lines: frozenset[tuple[str, str]] = frozenset()
    if path is not None:
        examined = logs.examine([path], {})
        for fact in examined.pieces[-1].cases[0].grounds.facts:
            stated.setdefault(fact.name, []).append(spell(fact.value))
        hits = collect_hits((seen for reading in examined.readings for seen in reading.seen), kb.index.rules)
        lines = frozenset((entry, name) for entry, names in hits.items() for name in names)
    has = frozenset(right) if able.trusting else frozenset()
    return User(known | said | stated, lines, output, has, able.pastes)


def answer_of(talk: Conversation) -> str:
    """Return the entry that is the answer now."""
    diagnosis = talk.case.diagnosis
    return diagnosis.hypotheses[0].id if diagnosis.recognised else diagnosis.verdict


def is_given(talk: Conversation) -> bool:
    """Say whether a failure is given as the answer: not the kind of it, nor what is likely so far."""
    return talk.case.diagnosis.recognised and (talk.sure or (talk.case.answered and talk.case.settles))


def names_one(talk: Conversation) -> bool:
    """Say whether a failure stands first, be it only as the likeliest."""
    return talk.case.diagnosis.recognised and talk.case.settles


def play(
    talk: Conversation, first: str, user: User, right: frozenset[str], chance: random.Random, name: str, removed: int
) -> Played:
    """Play one conversation to its end."""
    said = talk.say(first)
    if said.trouble:
        raise DenpexError(said.note)
    answers = [answer_of(talk)]
    while talk.question is not None and len(answers) <= MOST:
        text, pasted = user.reply(talk.question, chance)
        talk.say(text, pasted=pasted)
        answers.append(answer_of(talk))
    is_right = [answer in right for answer in answers]
    needed = None
    if is_right[-1]:
        needed = len(is_right) - next((back for back, ok in enumerate(reversed(is_right)) if not ok), len(is_right))
    return Played(name, needed, len(answers) - 1, is_given(talk), is_right[-1], answers[-1], removed, names_one(talk))


def accepted(case: Labelled) -> frozenset[str]:
    """Return the answers that a label accepts: entries, and verdicts where it lets nothing stand for one."""
    named = (*case.expect, *case.also_ok)
    silent = ("healthy", "unknown", "stalled") if "NONE" in named else ()
    return frozenset((*named, *silent, *(("stalled",) if "STALLED" in named else ()))) - {"NONE", "STALLED"}


def sample_of(entry: str) -> Path | None:
    """Return a sample input of an entry."""
    return min((ROOT / "catalog").glob(f"*/{entry}/positive-*"), default=None)


def corpus(kb: KnowledgeBase, part: str, seed: int, work: Path, able: Able) -> Iterator[tuple[str, Played]]:
    """Play one part of the corpus."""
    folder = ROOT / "tests" / "corpus" / part
    logs = LogDiagnoser(kb.index)
    known = frozenset(kb.index.ids())
    for line in (folder / "cases.jsonl").read_text(encoding="utf-8").splitlines():
        case = msgspec.json.decode(line, type=Labelled)
        meant = [entry for entry in (*case.expect, *case.also_ok) if entry in known]
        nothing = case.expect == ("NONE",)
        if not meant and not nothing:
            continue  # no entry names it
        right = accepted(case)
        chance = random.Random(f"{seed} {case.id}")
        talk = Conversation(kb.index)
        try:
            if case.form == "query":
                sample = sample_of(meant[0]) if meant else None
                user = user_of(kb, logs, sample, meant, {}, able, case.truth)
                yield "in words", play(talk, case.input, user, right, chance, case.id, 0)
                continue
            path = folder / case.input
            diagnosis = kb.diagnose(path)
            cited = [item.text for hypothesis in diagnosis.hypotheses[:1] for item in hypothesis.evidence if item.file]
            files = thinned(case, read_files(path), [] if nothing else cited, chance)
            target = work / case.id
            for name, output in files.items():
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                kept = "\n".join(output.lines[number] for number in output.kept)
                (target / name).write_bytes(kept.encode("latin-1"))
            start = target if path.is_dir() else target / path.name
            removed = sum(len(output.lines) - len(output.kept) for output in files.values())
            user = user_of(kb, logs, path, [] if nothing else meant, files, able, case.truth)
            group = "nothing failed" if nothing else "thinned" if removed else "whole"
            played = play(talk, str(start), user, right, chance, case.id, removed)
            best = diagnosis.hypotheses[0].id if diagnosis.recognised else diagnosis.verdict
            yield group, played._replace(whole=best, knowable=best in right)
        except DenpexError as error:
            yield "thinned", Played(case.id, None, 0, False, False, f"error: {error}", 0)


def questions(kb: KnowledgeBase, seed: int, able: Able) -> Iterator[Played]:
    """Play the questions of the tests; what the user sees is a sample of the entry that is meant."""
    import yaml

    logs = LogDiagnoser(kb.index)
    for name in ("central", "lookalikes", "common"):
        for item in yaml.safe_load((ROOT / "tests" / "questions" / f"{name}.yaml").read_text(encoding="utf-8")):
            right = frozenset(item["expect"])
            sample = sample_of(item["expect"][0])
            if sample is None:
                continue
            chance = random.Random(f"{seed} {item['q']}")
            user = user_of(kb, logs, sample, item["expect"], {}, able)
            yield play(Conversation(kb.index), item["q"], user, right, chance, item["q"], 0)


def table(groups: dict[str, list[Played]]) -> str:
    """Write the figures of all groups side by side."""
    rows: list[tuple[str, list[str]]] = [("", list(groups))]
    for label, figure in FIGURES.items():
        rows.append((label, [figure(played) for played in groups.values()]))
    width = max(len(label) for label, _ in rows) + 2
    return "\n".join(label.ljust(width) + "".join(cell.ljust(18) for cell in cells).rstrip() for label, cells in rows)


def _share(hits: int, of: int) -> str:
    return f"{hits / of:6.1%} {hits}/{of}" if of else "none"


def _mean(values: list[int]) -> str:
    return f"{statistics.mean(values):.2f}" if values else "none"


FIGURES: dict[str, Callable[[list[Played]], str]] = {
    "conversations": lambda played: str(len(played)),
    "right entry at once": lambda played: _share(sum(item.needed == 0 for item in played), len(played)),
    "right entry in the end": lambda played: _share(sum(item.needed is not None for item in played), len(played)),
    "  the whole output names it": lambda played: _share(
        sum(item.knowable for item in played), sum(bool(item.whole) for item in played)
    ),
    "questions until then, mean": lambda played: _mean([item.needed for item in played if item.needed is not None]),
    "  where any was needed": lambda played: _mean([item.needed for item in played if item.needed]),
    "the right one given as the answer": lambda played: _share(
        sum(item.sure and item.right for item in played), len(played)
    ),
    "unsure at the end": lambda played: _share(sum(not item.sure for item in played), len(played)),
    "a wrong one named as the likeliest": lambda played: str(
        sum(not item.right and not item.sure and item.named for item in played)
    ),
    "a wrong one given as the answer": lambda played: str(sum(item.sure and not item.right for item in played)),
    "  led there by questions": lambda played: str(
        sum(bool(item.sure and not item.right and item.asked) for item in played)
    ),
    "  to what the whole is not taken for": lambda played: str(
        sum(bool(item.sure and not item.right and item.asked and item.answer != item.whole) for item in played)
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-paste", action="store_true", help="the user has no more of the output to hand in")
    parser.add_argument("--trusting", action="store_true", help="users know what the catalog says of their failure")
    parser.add_argument("--part", choices=("dev", "held-out"), action="append", help="only this part of the corpus")
    parser.add_argument("--list", action="store_true", help="print every development case that was not reached")
    arguments = parser.parse_args()
    kb = KnowledgeBase.open()
    able = Able(pastes=not arguments.no_paste, trusting=arguments.trusting)
    shown: list[Played] = []
    for part in arguments.part or ("dev", "held-out"):
        groups: dict[str, list[Played]] = {"thinned": [], "whole": [], "in words": [], "nothing failed": []}
        with tempfile.TemporaryDirectory() as work:
            for group, item in corpus(kb, part, arguments.seed, Path(work), able):
                groups[group].append(item)
        if part == "dev":
            groups["tests' questions"] = list(questions(kb, arguments.seed, able))
            shown = [item for played in groups.values() for item in played]
        failures = [item for name in ("thinned", "whole", "in words") for item in groups[name]]
        print(f"{part} part")
        print(table({"cases": failures, **groups}))
    if arguments.list:
        for item in shown:
            if item.needed is None or (item.sure and not item.right):
                how = f"{item.answer}{' (given)' if item.sure else ''}, asked {item.asked}, removed {item.removed}"
                print(f"  {item.case[:90]}: {how}")


if __name__ == "__main__":
    main()
