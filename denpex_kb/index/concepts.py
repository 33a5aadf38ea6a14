"""Words of a question or an entry → facts, and the words that are left for the text search."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from msgspec import Struct

from denpex_kb.model.conditions import spell
from denpex_kb.model.facts import FactValue
from denpex_kb.model.kb import Kb

_TOKEN = re.compile(r"[^\W_]+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_MIN_FUZZY_LENGTH = 5
_FUZZY_CUTOFF = 0.79


class Meaning(Struct, frozen=True, array_like=True):
    """One fact that a phrase states, with what follows from it."""

    fact: str
    value: FactValue
    implies: dict[str, FactValue] = {}


class Lexicon(Struct, frozen=True):
    """The vocabulary, compiled: normalised phrase → meanings."""

    phrases: dict[str, tuple[Meaning, ...]]
    substrings: dict[str, tuple[Meaning, ...]]  # scripts that write no spaces
    shapes: tuple[tuple[str, Meaning], ...]
    same: dict[str, str]  # phrase → canonical word
    same_substrings: dict[str, str]
    misspelt: dict[str, str]
    ignore: frozenset[str]
    longest: int


class Concept(Struct, frozen=True):
    """A fact found in a text, and the words that state it."""

    fact: str
    value: FactValue
    words: str
    implied: bool = False
    implies: tuple[str, ...] = ()  # tokens of what follows from it

    @property
    def token(self) -> str:
        """The search token of this concept."""
        return token(self.fact, self.value)


class Reading(Struct, frozen=True):
    """A text, read: its concepts and the words that carry none."""

    concepts: tuple[Concept, ...]
    words: tuple[str, ...]
    corrected: tuple[tuple[str, str], ...] = ()


def token(fact: str, value: FactValue) -> str:
    """Return the search token that stands for `fact = value`."""
    return "c" + re.sub(r"[^a-z0-9]", "", f"{fact}x{spell(value)}".lower())


def tokens(text: str) -> list[str]:
    """Split a text into lower-case words at everything but letters and digits."""
    return _TOKEN.findall(text.lower())


def singular(word: str) -> str:
    """Take a plural s off: questions and entries differ in it more than in anything else."""
    if len(word) > 3 and word.isascii() and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-3] + "y" if word.endswith("ies") and len(word) > 4 else word[:-1]
    return word


def make_lexicon(kb: Kb) -> Lexicon:
    """Compile the vocabulary and the names of the model families."""
    phrases: dict[str, list[Meaning]] = {}
    substrings: dict[str, list[Meaning]] = {}
    shapes: list[tuple[str, Meaning]] = []

    def learn(words: Iterable[str], meaning: Meaning) -> None:
        for word in words:
            if _CJK.search(word):
                substrings.setdefault(word.lower(), []).append(meaning)
            elif normal := " ".join(tokens(word)):
                phrases.setdefault(normal, []).append(meaning)

    for item in kb.words:
        meaning = Meaning(item.fact, item.value, item.implies)
        learn(item.words, meaning)
        if item.pattern:
            shapes.append((item.pattern, meaning))
    for family in kb.models:
        implied: dict[str, FactValue] = {"model.moe": family.moe}
        if family.multimodal:
            implied["model.multimodal"] = True
        learn((family.id, *family.names, *family.architectures), Meaning("model.family", family.id, implied))
    same: dict[str, str] = {}
    same_substrings: dict[str, str] = {}
    for group in kb.language.same:
        canonical = "".join(tokens(group[0]))
        for word in group:
            if _CJK.search(word):
                same_substrings[word.lower()] = canonical
            else:
                same[" ".join(tokens(word))] = canonical
    longest = max((phrase.count(" ") + 1 for phrase in (*phrases, *same)), default=1)
    return Lexicon(
        {phrase: tuple(meanings) for phrase, meanings in phrases.items()},
        {phrase: tuple(meanings) for phrase, meanings in substrings.items()},
        tuple(shapes),
        same,
        same_substrings,
        {wrong.lower(): right.lower() for wrong, right in kb.language.misspelt.items()},
        frozenset(word for entry in kb.language.ignore for word in tokens(entry)),
        longest,
    )


class Reader:
    """Reads texts with one lexicon."""

    def __init__(self, lexicon: Lexicon) -> None:
        """Prepare the shapes."""
        self._lexicon = lexicon
        self._shapes = [(re.compile(pattern), meaning) for pattern, meaning in lexicon.shapes]
        self._substrings = sorted(lexicon.substrings, key=len, reverse=True)
        self._same_substrings = sorted(lexicon.same_substrings, key=len, reverse=True)

    def read(self, text: str, known: Collection[str] | None = None) -> Reading:
        """Find the concepts of a text and the words left over.

        Args:
            text: any text.
            known: the words of the index; a word that neither they nor the lexicon hold is taken for a misspelling.
        """
        lexicon = self._lexicon
        lowered = text.lower()
        found: dict[tuple[str, FactValue], Concept] = {}

        def state(meaning: Meaning, words: str) -> None:
            implied = tuple(token(fact, value) for fact, value in meaning.implies.items())
            found.setdefault((meaning.fact, meaning.value), Concept(meaning.fact, meaning.value, words, implies=implied))
            for fact, value in meaning.implies.items():
                found.setdefault((fact, value), Concept(fact, value, words, implied=True))

        for shape, meaning in self._shapes:
            if match := shape.search(lowered):
                state(meaning, match.group(0))
        for phrase in self._substrings:
            if phrase in lowered:
                for meaning in lexicon.substrings[phrase]:
                    state(meaning, phrase)
                lowered = lowered.replace(phrase, " ")
        extra = [lexicon.same_substrings[phrase] for phrase in self._same_substrings if phrase in lowered]
        words, corrected = self._spelt(tokens(lowered), known)
        left: list[str] = extra
        at = 0
        while at < len(words):
            size, phrase = self._longest_phrase(words, at)
            if phrase in lexicon.phrases:
                for meaning in lexicon.phrases[phrase]:
                    state(meaning, phrase)
            if phrase in lexicon.same:
                left.append(lexicon.same[phrase])
            elif phrase not in lexicon.phrases and phrase not in lexicon.ignore:
                left.append(singular(phrase))
            at += size
        return Reading(tuple(found.values()), tuple(dict.fromkeys(left)), tuple(corrected))

    def search_text(self, text: str) -> str:
        """Return the words of a text as the full-text index holds them."""
        lexicon = self._lexicon
        lowered = text.lower()
        words = tokens(lowered)
        result = [lexicon.same_substrings[phrase] for phrase in self._same_substrings if phrase in lowered]
        at = 0
        while at < len(words):
            size, phrase = self._longest_phrase(words, at, self._lexicon.same)
            if phrase in lexicon.same:
                result.append(lexicon.same[phrase])
            if phrase not in lexicon.ignore:
                result += map(singular, words[at : at + size])
            at += size
        return " ".join(result)

    def _longest_phrase(
        self, words: list[str], at: int, table: Collection[str] | None = None
    ) -> tuple[int, str]:
        for size in range(min(self._lexicon.longest, len(words) - at), 0, -1):
            phrase = " ".join(words[at : at + size])
            if phrase in (self._lexicon.same if table is None else table) or (
                table is None and phrase in self._lexicon.phrases
            ):
                return size, phrase
        return 1, words[at]

    def _spelt(self, words: list[str], known: Collection[str] | None) -> tuple[list[str], list[tuple[str, str]]]:
        """Mend misspellings: listed ones always, others only where the words of the index are given."""
        lexicon = self._lexicon
        result: list[str] = []
        corrected: list[tuple[str, str]] = []
        vocabulary: set[str] | None = None
        for word in words:
            right = lexicon.misspelt.get(word)
            if right is None and known is not None and self._strange(word, known):
                if vocabulary is None:
                    vocabulary = {part for phrase in (*lexicon.phrases, *lexicon.same) for part in phrase.split()}
                if word not in vocabulary:
                    right = _nearest(word, vocabulary) or _nearest(word, known)
            if right is None:
                result.append(word)
            else:
                corrected.append((word, right))
                result += tokens(right)
        return result, corrected

    def _strange(self, word: str, known: Collection[str]) -> bool:
        return (
            len(word) >= _MIN_FUZZY_LENGTH
            and not any(character.isdigit() for character in word)
            and word.isascii()
            and singular(word) not in known
            and word not in self._lexicon.ignore
        )


def _nearest(word: str, candidates: Collection[str]) -> str | None:
    from rapidfuzz import process  # costs 35 ms, and most questions are spelt well
    from rapidfuzz.distance import OSA

    near = [candidate for candidate in candidates if abs(len(candidate) - len(word)) <= 2 and candidate[:1] == word[:1]]
    found = process.extractOne(
        word, near, scorer=OSA.normalized_similarity, score_cutoff=_FUZZY_CUTOFF
    )
    return str(found[0]) if found else None
