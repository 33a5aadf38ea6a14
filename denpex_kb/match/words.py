"""What a question says, weighed, and held against the text of all entries."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable
from functools import cache

from msgspec import Struct

from denpex_kb.index.concepts import Reading, stem
from denpex_kb.index.open import Index
from denpex_kb.index.textindex import PARTS, Posting, rarity

# How much a word counts by where the entry says it.
_PLACES = {
    "title": 1.0,
    "questions": 0.95,
    "tags": 0.95,
    "concepts": 1.0,
    "summary": 0.8,
    "symptoms": 0.7,
    "examples": 0.7,
    "cause": 0.45,
    "setups": 0.45,
    "signs": 0.6,
    "action": 0.3,
    "sources": 0.45,
    "notes": 0.45,
}
_BY_BIT = tuple(_PLACES[part] for part in PARTS)
_CONCEPT = 1.25
_CONCEPT_MOST = 4.0
_IMPLIED = 0.5
_FAINT = 0.7
_UNHEARD = 2.5  # the weight of a word that no entry holds
_ELSEWHERE = 7.0  # the same for what has nothing to do with training
_FOLLOWS = 0.8  # what follows from a concept, against the concept itself


class Item(Struct, frozen=True):
    """One thing the question says: a word or a concept, and how telling it is."""

    terms: tuple[str, ...]  # the first one, or what follows from it
    said: str
    weight: float
    faint: bool = False  # a word of nearly every question


class Likeness(Struct, frozen=True):
    """How much of a question each entry speaks of; entries by number."""

    total: float  # the weight of all that the question says
    covered: list[float]  # of each entry, the weight of what it speaks of
    sentence: list[float]  # of each entry, how like its likest sentence is to the question, 0 to 1
    title: list[float]  # the same for the title


def items_of(reading: Reading, index: Index) -> list[Item]:
    """Weigh what a question says: rare words and concepts tell more."""
    telling = {fact.name: fact.telling for fact in index.kb.facts}
    words = {word: stem(word) for word in (*reading.words, *reading.faint)}
    known = index.postings([*(concept.token for concept in reading.concepts), *words.values()])
    size = len(index.sentences.entries)

    def worth(term: str) -> float:
        return rarity(size, len(known[term].entries) if term in known else 0)

    items: list[Item] = []
    for concept in reading.concepts:
        factor = (_IMPLIED if concept.implied else _CONCEPT) * telling.get(concept.fact, 1.0)
        weight = factor * min(worth(concept.token), _CONCEPT_MOST)
        items.append(Item((concept.token, *concept.implies), concept.words, weight))
    faint, elsewhere = frozenset(reading.faint), index.lexicon.elsewhere
    for word, term in words.items():
        # A word that no entry holds is still something the question is about, and no entry speaks of it.
        weight = worth(term) if term in known else _ELSEWHERE if word in elsewhere else _UNHEARD
        said = reading.spoken.get(word, word)
        items.append(Item((term,), said, weight * (_FAINT if word in faint else 1.0), word in faint))
    return [item for item in items if item.weight > 0]


def hold_against(items: list[Item], index: Index) -> Likeness:
    """Hold what a question says against the text of every entry."""
    sentences = index.sentences
    size = len(sentences.entries)
    postings = index.postings(term for item in items for term in item.terms)
    covered = [0.0] * size
    dots: dict[int, float] = {}
    square = 0.0
    for item in items:
        square += item.weight * item.weight
        first = postings.get(item.terms[0])
        if len(item.terms) == 1:
            if first is not None:
                for entry, parts in zip(first.entries, first.parts, strict=True):
                    covered[entry] += item.weight * place(parts)
        else:
            for entry, share in _best_place(item, postings).items():
                covered[entry] += item.weight * share
        if first is not None and first.sentences:
            share = item.weight * rarity(size, len(first.entries))
            for number in first.sentences:
                dots[number] = dots.get(number, 0.0) + share
    sentence, title = [0.0] * size, [0.0] * size
    length = math.sqrt(square) or 1.0
    owners, lengths = sentences.owners, sentences.lengths
    for number, dot in dots.items():
        entry, is_title = divmod(owners[number], 2)
        like = dot / (lengths[number] * length)
        sentence[entry] = max(sentence[entry], like)
        if is_title:
            title[entry] = max(title[entry], like)
    return Likeness(sum(item.weight for item in items), covered, sentence, title)


def _best_place(item: Item, postings: dict[str, Posting]) -> dict[int, float]:
    """Return for each entry how well it speaks of a concept, or of what follows from it."""
    best: dict[int, float] = {}
    for number, term in enumerate(item.terms):
        posting = postings.get(term)
        if posting is not None:
            discount = _FOLLOWS if number else 1.0
            for entry, parts in zip(posting.entries, posting.parts, strict=True):
                best[entry] = max(best.get(entry, 0.0), discount * place(parts))
    return best


@cache
def place(parts: int) -> float:
    """Return how much a word counts that stands in some parts of an entry, given as bits."""
    return max((weight for bit, weight in enumerate(_BY_BIT) if parts >> bit & 1), default=0.0)


def spoken_of(entry: int, items: Iterable[Item], index: Index) -> tuple[str, ...]:
    """Return the pieces of a question that an entry, given by number, speaks of; faint words only where no other is."""
    items = list(items)
    postings = index.postings(term for item in items for term in item.terms)
    held = [
        item
        for item in items
        if any((posting := postings.get(term)) is not None and _holds(posting, entry) for term in item.terms)
    ]
    return tuple(dict.fromkeys([item.said for item in held if not item.faint] or [item.said for item in held]))


def _holds(posting: Posting, entry: int) -> bool:
    at = bisect_left(posting.entries, entry)
    return at < len(posting.entries) and posting.entries[at] == entry
