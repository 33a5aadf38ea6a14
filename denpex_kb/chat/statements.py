"""What was told → one reading and one set of facts, in which the latest statement of a fact counts."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from denpex_kb.chat.told import Stated, Told, Words
from denpex_kb.index.concepts import Concept, Reading
from denpex_kb.index.open import Index
from denpex_kb.model.conditions import spell
from denpex_kb.model.facts import Fact, FactSet
from denpex_kb.model.secrets import hide_secrets
from denpex_kb.read.versions import named_versions


class _Said(Struct):
    message: int
    concept: Concept
    origin: str  # question | answer


class Statements(Struct, frozen=True):
    """The user's own statements, put together."""

    reading: Reading
    facts: FactSet  # without what follows from them
    explicit: frozenset[str]  # facts that were said in so many words
    size: int  # bytes of the messages


def collect_statements(told: Sequence[Told], index: Index) -> Statements:
    """Put messages and answers together; what is stated later replaces what was stated before."""
    sets = {fact.name for fact in index.kb.facts if fact.type == "set"}
    said: list[_Said] = []
    words: dict[str, None] = {}
    faint: dict[str, None] = {}
    spoken: dict[str, str] = {}
    troubled = wondering = False
    corrected: list[tuple[str, str]] = []
    size = 0
    for number, item in enumerate(told):
        if isinstance(item, Words):
            text = hide_secrets(item.text)
            size += len(text.encode("utf-8", "replace"))
            reading = index.reader.read(text, known=index.terms)
            fresh = [_Said(number, concept, "question") for concept in reading.concepts]
            fresh += [_Said(number, _version(fact), "question") for fact in named_versions(text)]
            words.update(dict.fromkeys(reading.words))
            faint.update(dict.fromkeys(reading.faint))
            spoken.update(reading.spoken)
            troubled, wondering = troubled or reading.troubled, wondering or reading.wondering
            corrected += reading.corrected
            _replace(said, fresh, sets)
        elif isinstance(item, Stated):
            fresh = [_Said(number, Concept(item.fact, value, spell(value)), "answer") for value in item.values]
            _replace(said, fresh, sets if item.adds else set())
    concepts: dict[tuple[str, object], Concept] = {}
    for piece in said:
        key = (piece.concept.fact, piece.concept.value)
        if key not in concepts or concepts[key].implied:
            concepts[key] = piece.concept
    facts = FactSet(
        Fact(piece.concept.fact, piece.concept.value, "answer", text=piece.concept.words)
        if piece.origin == "answer"
        else Fact(piece.concept.fact, piece.concept.value, "question", text=piece.concept.words)
        for piece in said
    )
    explicit = frozenset(piece.concept.fact for piece in said if not piece.concept.implied)
    # a version is a fact and no concept: entries are not searched by numbers
    searched = tuple(concept for concept in concepts.values() if not concept.fact.endswith(".version"))
    return Statements(
        Reading(searched, tuple(words), tuple(corrected), tuple(faint), troubled, wondering, spoken),
        facts,
        explicit,
        size,
    )


def _version(fact: Fact) -> Concept:
    return Concept(fact.name, fact.value, fact.text)


def _replace(said: list[_Said], fresh: Sequence[_Said], sets: set[str]) -> None:
    """Take what a message states in place of earlier statements of the same facts; sets of values grow instead."""
    stated = {piece.concept.fact for piece in fresh if not piece.concept.implied} - sets
    gone = {(piece.message, piece.concept.words) for piece in said if piece.concept.fact in stated}
    kept = [
        piece
        for piece in said
        if piece.concept.fact not in stated
        # what followed from a statement goes with it
        and not (piece.concept.implied and (piece.message, piece.concept.words) in gone)
    ]
    known = {piece.concept.fact for piece in kept}
    said[:] = kept + [piece for piece in fresh if not (piece.concept.implied and piece.concept.fact in known - sets)]


def with_statements(facts: FactSet, statements: Statements, sets: frozenset[str], derived: frozenset[str]) -> FactSet:
    """Return what a log shows with what the user says: their word wins, and further values of a set stand beside.

    Args:
        facts: what the input shows.
        statements: what the user says.
        sets: the facts that may have several values.
        derived: the facts that follow from others and are worked out anew.
    """
    said = [
        fact
        for fact in statements.facts
        if fact.name in statements.explicit or fact.name not in facts or fact.name in sets
    ]
    wins = {fact.name for fact in said} - sets
    return FactSet([*said, *(fact for fact in facts if fact.name not in wins and fact.name not in derived)])
