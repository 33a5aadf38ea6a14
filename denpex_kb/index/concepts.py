"""Words of a question or an entry → facts, and the words that are left for the text search."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import cache

from msgspec import Struct

from denpex_kb.model.conditions import spell
from denpex_kb.model.facts import FactValue
from denpex_kb.model.kb import Kb

_SPACELESS = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_ASCII_TOKEN = re.compile(r"[a-z0-9]+")
_MIN_FUZZY_LENGTH = 5
_FUZZY_CUTOFF = 0.79
_CONTRAST = "contrast"  # stands for what is said not to happen
_EXCEPTION = re.compile(r"[a-z](Error|Exception|Warning)\b")
_DOUBLED = frozenset("bdgmnprt")  # as in "stopped"


class Meaning(Struct, frozen=True, array_like=True):
    """One fact that a phrase states, with what follows from it."""

    fact: str
    value: FactValue
    implies: dict[str, FactValue] = {}


class Lexicon(Struct, frozen=True):
    """The vocabulary, compiled: normalised phrase → meanings."""

    meanings: tuple[Meaning, ...]
    phrases: dict[str, tuple[int, ...]]  # phrase → indices of its meanings
    substrings: dict[str, tuple[int, ...]]  # the same for scripts that write no spaces
    shapes: tuple[tuple[str, int], ...]
    same: dict[str, str]  # phrase → canonical word
    same_substrings: dict[str, str]
    misspelt: dict[str, str]
    ignore: frozenset[str]
    faint: frozenset[str]
    trouble: frozenset[str]
    trouble_substrings: tuple[str, ...]
    wondering: tuple[str, ...]  # phrases between blanks
    elsewhere: frozenset[str]
    reach: dict[str, int]  # first word → how many words a phrase that begins with it may have


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
    faint: tuple[str, ...] = ()  # words of nearly every question
    troubled: bool = False  # some word says that something is wrong
    wondering: bool = False  # it begins as those do who want to know something
    spoken: dict[str, str] = {}  # a word that stands for others → how the text says it


def token(fact: str, value: FactValue) -> str:
    """Return the search token that stands for `fact = value`."""
    return "c" + re.sub(r"[^a-z0-9]", "", f"{fact}x{spell(value)}".lower())


def tokens(text: str) -> list[str]:
    """Split a text into lower-case words at everything but letters and digits."""
    return (_ASCII_TOKEN if text.isascii() else _any_token()).findall(text.lower())


@cache
def _any_token() -> re.Pattern[str]:
    # classes of whole scripts take milliseconds to compile, and most questions are ASCII
    return re.compile(rf"[{_SPACELESS}]+|[^\W_{_SPACELESS}]+")


@cache
def _spaceless() -> re.Pattern[str]:
    return re.compile(f"[{_SPACELESS}]+")


def is_spaceless(text: str) -> bool:
    """Say whether a text holds a script that writes no spaces."""
    return not text.isascii() and bool(_spaceless().search(text))


def singular(word: str) -> str:
    """Take a plural s off: questions and entries differ in it more than in anything else."""
    if len(word) > 3 and word.isascii() and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-3] + "y" if word.endswith("ies") and len(word) > 4 else word[:-1]
    return word


def stem(word: str) -> str:
    """Take the commonest endings off, so that "hanging" and "hangs", "saved" and "save" are one term of the index."""
    if len(word) <= 3 or not (word.isascii() and word.isalpha()):
        return word
    word = singular(word)
    for ending in ("ing", "ed", "es", "e"):
        if word.endswith(ending):
            if len(word) - len(ending) >= 3:
                word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] in _DOUBLED else word


def make_lexicon(kb: Kb) -> Lexicon:
    """Compile the vocabulary and the names of the model families."""
    draft = _Draft()
    for item in kb.words:
        meaning = Meaning(item.fact, item.value, item.implies)
        draft.learn(item.words, meaning)
        if item.pattern:
            draft.shapes.append((item.pattern, len(draft.meanings) - 1))
    for family in kb.models:
        implied: dict[str, FactValue] = {"model.moe": family.moe}
        if family.multimodal:
            implied["model.multimodal"] = True
        draft.learn((family.id, *family.names, *family.architectures), Meaning("model.family", family.id, implied))
    for group in kb.language.same:
        draft.equate(group)
    return Lexicon(
        tuple(draft.meanings),
        {phrase: tuple(meanings) for phrase, meanings in draft.phrases.items()},
        {phrase: tuple(meanings) for phrase, meanings in draft.substrings.items()},
        tuple(draft.shapes),
        draft.same,
        draft.same_substrings,
        {wrong.lower(): right.lower() for wrong, right in kb.language.misspelt.items()},
        frozenset(word for entry in kb.language.ignore for word in tokens(entry)),
        frozenset(word for entry in kb.language.faint for word in tokens(entry)),
        frozenset(word for word in kb.language.trouble if not is_spaceless(word)),
        tuple(word for word in kb.language.trouble if is_spaceless(word)),
        tuple(word if is_spaceless(word) else f" {word} " for word in kb.language.wondering),
        frozenset(kb.language.elsewhere),
        _reach((*draft.phrases, *draft.same)),
    )


def _reach(phrases: Iterable[str]) -> dict[str, int]:
    reach: dict[str, int] = {}
    for phrase in phrases:
        first, *rest = phrase.split(" ")
        if rest:
            reach[first] = max(reach.get(first, 1), len(rest) + 1)
    return reach


class _Draft:
    """A lexicon in the making."""

    def __init__(self) -> None:
        self.meanings: list[Meaning] = []
        self.phrases: dict[str, list[int]] = {}
        self.substrings: dict[str, list[int]] = {}
        self.shapes: list[tuple[str, int]] = []
        self.same: dict[str, str] = {}
        self.same_substrings: dict[str, str] = {}

    def learn(self, words: Iterable[str], meaning: Meaning) -> None:
        index = len(self.meanings)
        self.meanings.append(meaning)
        for word in words:
            if is_spaceless(word):
                self.substrings.setdefault(word.lower(), []).append(index)
            elif normal := " ".join(tokens(word)):
                self.phrases.setdefault(normal, []).append(index)

    def equate(self, group: tuple[str, ...]) -> None:
        canonical = "".join(tokens(group[0]))
        for word in group:
            if is_spaceless(word):
                self.same_substrings[word.lower()] = canonical
            else:
                self.same[" ".join(tokens(word))] = canonical


class _Found:
    """The concepts found so far; the first statement of a fact's value counts."""

    def __init__(self) -> None:
        self.concepts: dict[tuple[str, FactValue], Concept] = {}

    def state(self, meaning: Meaning, words: str) -> None:
        implied = tuple(token(fact, value) for fact, value in meaning.implies.items())
        concept = Concept(meaning.fact, meaning.value, words, implies=implied)
        self.concepts.setdefault((meaning.fact, meaning.value), concept)
        for fact, value in meaning.implies.items():
            self.concepts.setdefault((fact, value), Concept(fact, value, words, implied=True))


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
        found = _Found()
        lowered = self._without_spaceless(text.lower(), found)
        spoken = {word: phrase for word, phrase in self._same_in(text.lower()).items() if word not in lexicon.ignore}
        left = list(spoken)
        faint: list[str] = []
        words, corrected = self._spelt(tokens(lowered), known)
        troubled = self._troubled(text)
        at = 0
        while at < len(words):
            size, phrase = self._longest_phrase(words, at)
            for meaning in lexicon.phrases.get(phrase, ()):
                found.state(lexicon.meanings[meaning], phrase)
            same_as = lexicon.same.get(phrase)
            if same_as != _CONTRAST:
                troubled = troubled or not lexicon.trouble.isdisjoint(words[at : at + size])
            if same_as is not None:
                if same_as not in lexicon.ignore:
                    spoken.setdefault(same_as, phrase)
                    (faint if same_as in lexicon.faint else left).append(same_as)
            elif phrase in lexicon.phrases or phrase in lexicon.ignore:
                pass
            elif phrase in lexicon.faint:
                faint.append(singular(phrase))
            elif not _leftover(phrase, known):
                left.append(singular(phrase))
            at += size
        spaced = f" {' '.join(words)} " if text.isascii() else f" {text.lower()} "
        return Reading(
            tuple(found.concepts.values()),
            tuple(dict.fromkeys(left)),
            tuple(corrected),
            tuple(dict.fromkeys(faint)),
            troubled,
            any(phrase in spaced for phrase in lexicon.wondering),
            spoken,
        )

    def _troubled(self, text: str) -> bool:
        """Say whether the name of an exception, or a word of a script that writes no spaces, tells of trouble."""
        if _EXCEPTION.search(text):
            return True
        return not text.isascii() and any(word in text for word in self._lexicon.trouble_substrings)

    def _without_spaceless(self, lowered: str, found: _Found) -> str:
        """Take out what is recognised by shape or in scripts that write no spaces."""
        for shape, meaning in self._shapes:
            if match := shape.search(lowered):
                found.state(self._lexicon.meanings[meaning], match.group(0))
        if lowered.isascii():
            return lowered
        for phrase in self._substrings:
            if phrase in lowered:
                for meaning in self._lexicon.substrings[phrase]:
                    found.state(self._lexicon.meanings[meaning], phrase)
                lowered = lowered.replace(phrase, " ")
        return lowered

    def terms(self, text: str, *, concepts: bool = True) -> tuple[set[str], frozenset[str]]:
        """Return the words of an entry's text, and the search tokens of the concepts in it.

        Unlike in a question, the words that state a concept stay words as well.

        Args:
            text: any text.
            concepts: whether to look for concepts at all.
        """
        lexicon = self._lexicon
        lowered = text.lower()
        found = _Found()
        result = set(self._same_in(lowered))
        words = tokens(self._without_spaceless(lowered, found) if concepts else lowered)
        at = 0
        while at < len(words):
            size, phrase = self._longest_phrase(words, at)
            if concepts:
                for meaning in lexicon.phrases.get(phrase, ()):
                    found.state(lexicon.meanings[meaning], phrase)
            if phrase in lexicon.same:
                result.add(lexicon.same[phrase])
            if phrase not in lexicon.ignore:
                result.update(map(singular, words[at : at + size]))
            at += size
        return result, frozenset(concept.token for concept in found.concepts.values())

    def _same_in(self, lowered: str) -> dict[str, str]:
        """Return the canonical words of phrases in scripts that write no spaces, with the phrases."""
        if lowered.isascii():
            return {}
        same = self._lexicon.same_substrings
        return {same[phrase]: phrase for phrase in reversed(self._same_substrings) if phrase in lowered}

    def _longest_phrase(self, words: list[str], at: int) -> tuple[int, str]:
        """Return the longest known phrase that begins here; the word alone where none does."""
        phrases, same = self._lexicon.phrases, self._lexicon.same
        first = words[at]
        for size in range(min(self._lexicon.reach.get(first, 1), len(words) - at), 1, -1):
            phrase = " ".join(words[at : at + size])
            if phrase in phrases or phrase in same:
                return size, phrase
        return 1, first

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
            and word not in self._lexicon.faint
            and word not in self._lexicon.elsewhere
        )


def _leftover(word: str, known: Collection[str] | None) -> bool:
    """Say whether a word is what remains around recognised phrases of other scripts, or a number of no meaning."""
    return is_spaceless(word) or (word.isdigit() and known is not None and word not in known)


def _nearest(word: str, candidates: Collection[str]) -> str | None:
    from rapidfuzz import process  # costs 35 ms, and most questions are spelt well
    from rapidfuzz.distance import OSA

    near = [candidate for candidate in candidates if abs(len(candidate) - len(word)) <= 2 and candidate[:1] == word[:1]]
    found = process.extractOne(word, near, scorer=OSA.normalized_similarity, score_cutoff=_FUZZY_CUTOFF)
    return str(found[0]) if found else None
