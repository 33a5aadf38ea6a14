"""The text of the entries as postings: in which entries a term stands, in which of their parts, in which sentences."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from denpex_kb.index.concepts import Reader, stem, token
from denpex_kb.model.entry import Entry

# The parts of an entry; a posting names them as bits in this order.
PARTS = (
    "title", "questions", "tags", "concepts", "summary", "symptoms", "examples", "cause", "setups", "signs", "action",
    "sources", "notes",
)  # fmt: skip
# What is about as long as a question, so that a question can be held against it as a whole.
_SENTENCES = frozenset({"title", "questions", "summary", "symptoms", "examples", "signs"})
_SENTENCE_END = re.compile(r"(?<=[.;:!?])\s+|\n")
_MOST_WEIGHT = 4.5
_COMMON = 0.7  # a term that stands in more than half of the entries says nothing of a sentence


class Posting(Struct, frozen=True, array_like=True):
    """Where one term stands."""

    entries: list[int]  # numbers of entries, rising
    parts: list[int]  # of each, the parts as bits
    sentences: list[int]


class Sentences(Struct, frozen=True, array_like=True):
    """What a question is held against as a whole: titles, questions, symptoms, messages, signs."""

    entries: list[str]  # the id of each number
    owners: list[int]  # of each sentence, twice its entry's number, and one more for a title
    lengths: list[float]  # the root of the sum of its terms' squared weights


def rarity(size: int, entries: int) -> float:
    """Return the weight of a term that stands in some of all entries, in nats."""
    return min(math.log((size + 1) / (entries + 0.5)), _MOST_WEIGHT)


class TextIndex:
    """The postings of all entries, in the making."""

    def __init__(self, entries: Sequence[Entry], reader: Reader) -> None:
        """Read the text of all entries."""
        self.concepts: dict[str, frozenset[str]] = {}  # entry id → the concepts that its text speaks of
        self._ids = [entry.id for entry in entries]
        self._parts: dict[str, dict[int, int]] = defaultdict(dict)
        self._sentences: dict[str, list[int]] = defaultdict(list)
        self._owners: list[int] = []
        self._words: dict[str, set[int]] = defaultdict(set)
        self._written: set[str] = set()  # words that stand in more than the questions, which hold misspellings
        signs = _signs_of_others(entries)
        for number, entry in enumerate(entries):
            self._add(number, entry, signs.get(entry.id, ()), reader)

    def _add(self, number: int, entry: Entry, signs: Iterable[str], reader: Reader) -> None:
        spoken: set[str] = {token("symptom", entry.meta.kind), token("phase", entry.meta.phase)}
        for part, text in _texts(entry, signs):
            bit = 1 << PARTS.index(part)
            words, concepts = reader.terms(text, concepts=part in _SENTENCES or part == "tags")
            terms = {stem(word) for word in words}
            for word in words:
                self._words[word].add(number)
            if part != "questions":
                self._written.update(words)
            for term in terms:
                places = self._parts[term]
                places[number] = places.get(number, 0) | bit
            spoken |= concepts
            if part in _SENTENCES:
                for term in terms | concepts:
                    self._sentences[term].append(len(self._owners))
                self._owners.append(2 * number + (part == "title"))
        for concept in spoken:
            self._parts[concept][number] = self._parts[concept].get(number, 0) | 1 << PARTS.index("concepts")
        self.concepts[entry.id] = frozenset(spoken)

    def postings(self) -> Iterator[tuple[str, Posting]]:
        """Yield every term with its posting."""
        for term, places in self._parts.items():
            common = rarity(len(self._ids), len(places)) < _COMMON
            sentences = [] if common else self._sentences.get(term, [])
            yield term, Posting(list(places), list(places.values()), sentences)

    def sentences(self) -> Sentences:
        """Return the sentences' owners and lengths."""
        squares = [0.0] * len(self._owners)
        for term, numbers in self._sentences.items():
            weight = rarity(len(self._ids), len(self._parts[term]))
            if weight >= _COMMON:
                for number in numbers:
                    squares[number] += weight * weight
        lengths = [round(math.sqrt(square), 2) or 1.0 for square in squares]
        return Sentences(self._ids, self._owners, lengths)

    def words(self) -> Iterator[tuple[str, int, bool]]:
        """Yield every word with the number of entries that hold it, and whether its spelling can be trusted."""
        for word, numbers in self._words.items():
            yield word, len(numbers), len(numbers) > 1 or word in self._written


def _signs_of_others(entries: Iterable[Entry]) -> Mapping[str, list[str]]:
    """Return for each entry the signs by which its look-alikes tell it apart."""
    signs: dict[str, list[str]] = defaultdict(list)
    for entry in entries:
        for lookalike in entry.meta.lookalikes:
            signs[lookalike.id].append(lookalike.sign)
    return signs


def _texts(entry: Entry, signs: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the texts of an entry, each with the part that it belongs to."""
    meta, body = entry.meta, entry.body
    yield "title", meta.title
    yield "title", meta.id.replace("-", " ")
    yield from (("questions", question) for question in meta.questions)
    yield "tags", " ".join((meta.kind, meta.hub, *(affected.framework for affected in meta.affected)))
    yield from (("tags", tag) for tag in meta.tags)
    yield "tags", " ".join(alias.replace("-", " ") for alias in meta.aliases)
    yield from (("summary", sentence) for sentence in _SENTENCE_END.split(body.summary))
    yield from (("symptoms", line) for line in body.symptoms.split("\n") if line.strip())
    yield from (("examples", example) for signature in meta.signatures for example in signature.examples)
    yield from (("signs", sign) for sign in signs)
    yield "cause", body.root_cause
    yield "setups", body.affected_setups
    yield "action", " ".join((meta.action.text, *(variant.title for variant in body.fix.variants)))
    yield "sources", "\n".join(reference.establishes or "" for reference in meta.references)
    notes = (*(affected.note for affected in meta.affected), *(signature.note for signature in meta.signatures))
    yield "notes", "\n".join(filter(None, notes))
