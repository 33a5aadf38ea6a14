"""What was told → a diagnosis by the same matcher, and the entries in view; nothing is remembered but for speed."""

from __future__ import annotations

import contextlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from denpex_kb.chat.joining import join
from denpex_kb.chat.likeliest import with_likeliest, with_signs_chosen
from denpex_kb.chat.statements import Statements, collect_statements, with_statements
from denpex_kb.chat.told import Fits, Quoted, Signs, Stated, Told, Words, handed_in, pastes, paths
from denpex_kb.chat.weighing import View, shifted, weigh_log, weigh_question
from denpex_kb.derive.models import derive_model_facts
from denpex_kb.index.concepts import Concept, Reading, singular, tokens
from denpex_kb.index.open import Index
from denpex_kb.match import weights
from denpex_kb.match.evidence import Hits
from denpex_kb.match.questions import answer
from denpex_kb.model.diagnosis import Diagnosis, Evidence, Verdict
from denpex_kb.model.events import Line, Match, Seen
from denpex_kb.model.facts import FactSet
from denpex_kb.model.secrets import without_secrets
from denpex_kb.pipeline.answer import with_advice, with_signs
from denpex_kb.pipeline.question import conclude, quoted_evidence, quotes_message

if TYPE_CHECKING:
    from denpex_kb.chat.missing import Missing
    from denpex_kb.pipeline.logs import Examined, LogDiagnoser

ANSWERS = "your answer"  # where a line stands that the user says they see
_DERIVED = frozenset({"model.experts", "model.moe_block", "trainer.marks_block", "trainer.marks_since"})
_TELLING_MARKS = frozenset({"exception", "hardware", "kernel", "scheduler", "crash", "mismatch"})
_MOST_LINES = 8  # of a log whose words are searched for
_MOST_WORDS = 24
_TAIL, _TAIL_LINES = 6000, 50  # characters and lines of the end of each text
_MOST_FILES = 8  # whose ends are looked at for words
_IN_RESERVE = 40  # entries of a question that are kept for when the first ones fall
# The folders above a library say nothing of a failure.
_PLACE = re.compile(r'File "(?:[^"]*/(?:site|dist)-packages/|[^"]*/)?([^"]*)", line \d+')
_STANDS = 0.9  # confidence
_MOST_BY_ANSWERS, _MOST_BY_WORDS = 0.98, 0.9  # confidence that answers lend, beside a log and without one
_MOST_FOR, _MOST_AGAINST = 4.0, 2.0  # log-odds by which all answers together may move an entry


class Case(Struct, frozen=True):
    """Where the conversation stands."""

    diagnosis: Diagnosis
    view: View
    facts: FactSet
    hits: Hits  # matched lines by entry and signature, confirmed ones included
    cut: bool = False  # a traceback breaks off before its last line
    missing: tuple[Missing, ...] = ()  # what of the run's output would decide, where it was not given
    settles: bool = True  # the answer names a failure, not only that there was one
    seen_as: str = ""  # the symptom that the log itself shows
    has_log: bool = False
    met: frozenset[str] = frozenset()  # the requests to which something was handed in

    @property
    def answered(self) -> bool:
        """Whether the log has an answer that stands by itself, be it only the kind of failure and who began it."""
        best = self.diagnosis.hypotheses[:1]
        return self.has_log and not self.cut and self.diagnosis.verdict == "matched" and best[0].confidence >= _STANDS


class CaseReader:
    """Works cases out; what was read from files and pastes is kept until something is added."""

    def __init__(self, index: Index) -> None:
        """Keep the index."""
        self.index = index
        self._sets = frozenset(fact.name for fact in index.kb.facts if fact.type == "set")
        self._read: tuple[tuple[object, ...], Examined] | None = None
        self._like: dict[str, dict[str, list[Seen]]] = {}

    @cached_property
    def logs(self) -> LogDiagnoser:
        """The reader of logs; it loads Hyperscan, which a plain question does not need."""
        from denpex_kb.pipeline.logs import LogDiagnoser

        return LogDiagnoser(self.index)

    def entries_with(self, line: str) -> dict[str, list[Seen]]:
        """Return which entries' signatures a line matches."""
        if line not in self._like:
            self._like[line] = self.logs.signature_hits(line)
        return self._like[line]

    def read(self, told: Sequence[Told]) -> Case:
        """Work out where things stand after everything that was told.

        Raises:
            InputError: a named file cannot be read.
        """
        statements = collect_statements(told, self.index)
        files, texts = paths(told), pastes(told)
        if not files and not texts:
            return self._question(told, statements)
        joined = join(told, texts, files)
        texts = joined.texts
        hung = "hang" in statements.facts.values("symptom")
        key = (files, tuple(texts.items()), hung)
        if self._read is None or self._read[0] != key:
            self._read = (key, self.logs.examine(files, texts, hung=hung, without=joined.instead))
        examined = self._read[1]
        if not any(reading.lines for reading in examined.readings):
            return self._question(told, statements, examined.facts)
        beside = [item for item in told if item not in joined.placed]
        return self._log(beside, statements, _shifts(told, statements), examined, files, texts, handed_in(told))

    def _question(
        self,
        told: Sequence[Told],
        statements: Statements,
        configs: FactSet | None = None,
    ) -> Case:
        # facts that were answered count as words of the question do; only lines that are not seen come on top
        shift = _shifts([item for item in told if isinstance(item, Signs | Fits)], statements)
        facts = with_statements(configs or FactSet(), statements, self._sets, _DERIVED)
        derive_model_facts(facts, self.index.kb)
        quoted = self._quoted(told)
        found = answer(_words(told), statements.reading, facts, self.index, quoted, most=_IN_RESERVE)
        shown = structs.replace(found, hypotheses=found.hypotheses[:8], scores=found.scores[:8])
        diagnosis = conclude(shown, statements.reading, facts, self.index, statements.size)
        if not found.hypotheses and not statements.size and not len(facts):
            diagnosis = structs.replace(diagnosis, because="")
        view = weigh_question(found, shift, self.index.by_id)
        hits: Hits = {entry: {item.name: [] for item in items} for entry, items in quoted.items()}
        settled = self._settled(diagnosis, shift, facts, weights.CLOSE_QUESTION, _MOST_BY_WORDS)
        return Case(self._led(settled, view, hits, told, facts), view, facts, hits)

    def _quoted(self, told: Sequence[Told]) -> dict[str, list[Evidence]]:
        """Return the signatures that messages quote and those of lines that the user says they see."""
        found: dict[str, list[Evidence]] = defaultdict(list)
        for item in told:
            if isinstance(item, Words) and quotes_message(item.text):
                for entry, evidence in quoted_evidence(item.text, self.index, self.logs.signature_hits).items():
                    found[entry] += evidence
            elif isinstance(item, Signs | Quoted):
                for line in _confirmed([item]):
                    for entry, evidence in quoted_evidence(line, self.index, self.entries_with).items():
                        found[entry] += [structs.replace(piece, file=ANSWERS) for piece in evidence]
        return dict(found)

    def _log(
        self,
        items: Sequence[Told],
        statements: Statements,
        shift: Mapping[str, float],
        examined: Examined,
        files: Sequence[Path],
        texts: Mapping[str, str],
        met: frozenset[str],
    ) -> Case:
        from denpex_kb.chat.missing import missing_parts
        from denpex_kb.pipeline.assemble import assemble

        rules = self.index.rules
        facts = with_statements(examined.facts, statements, self._sets, _DERIVED)
        derive_model_facts(facts, self.index.kb)
        *earlier, last = examined.pieces
        first, *further = last.cases
        own = with_statements(first.grounds.facts, statements, self._sets, _DERIVED)
        derive_model_facts(own, self.index.kb)
        confirmed = list(_confirmed(items))
        hits = self._with_confirmed(first.grounds.hits, confirmed)
        place = first.grounds.place
        if confirmed:
            own_lines = {(ANSWERS, number) for number in range(1, len(confirmed) + 1)}
            place = structs.replace(place, lines=place.lines | own_lines)
        grounds = structs.replace(first.grounds, hits=hits, facts=own, place=place)
        ranking = grounds.rank(rules)
        piece = structs.replace(first, ranking=ranking, grounds=grounds)
        pieces = (*earlier, structs.replace(last, cases=(piece, *further)))
        diagnosis = assemble(pieces, examined.info, facts, examined.ranks, self.index)
        quoted = self._quoted([item for item in items if isinstance(item, Words)])
        reading = self._spoken(examined, statements.reading, [*texts_of(files), *texts.values()])
        spoken = bool(reading.concepts or reading.words)
        text = answer(_words(items), reading, own, self.index, quoted, most=_IN_RESERVE) if spoken else None
        lost = missing_parts(examined, diagnosis, self.index)
        cut = any(part.kind == "traceback" and part.key not in met for part in lost)
        event = last.began.event
        told = event is not None and event.kind == "exception" and not event.follows
        view = weigh_log(ranking, text, hits, own, shift, self.index.by_id, cut=cut, told_itself=told)
        seen_as = "crash" if last.state.outcome == "failed" or cut else ""
        settled = self._settled(diagnosis, shift, facts, weights.CLOSE, _MOST_BY_ANSWERS)
        settled = self._led(settled, view, hits, items, facts)
        best = self.index.by_id[settled.hypotheses[0].id] if settled.recognised else None
        names = best is None or (best.standing == "specific" and best.role == "initiating")
        return Case(settled, view, own, hits, cut, lost, names, seen_as, has_log=True, met=met)

    def _with_confirmed(self, hits: Hits, confirmed: Sequence[str]) -> Hits:
        """Put the lines that the user sees beside those of the log.

        A line that completes a proof is taken to stand where the rest of that proof stands: the user was asked
        about the same run.
        """
        merged: Hits = {entry: {name: list(lines) for name, lines in names.items()} for entry, names in hits.items()}
        for number, text in enumerate(confirmed, 1):
            for entry in self.entries_with(text):
                for name, pattern in self.names_in(entry, text):
                    line = _placed(self.index.by_id[entry].signatures, name, hits.get(entry, {}), number, text)
                    seen = Seen(line[0], (Match(pattern),), line[1])
                    merged.setdefault(entry, {}).setdefault(name, []).append(seen)
        return merged

    def names_in(self, entry: str, line: str) -> Iterable[tuple[str, int]]:
        """Yield the signatures of an entry that a line matches, with the index of each one's pattern."""
        for seen in self.entries_with(line)[entry]:
            for match in seen.matches:
                pattern = self.index.rules.patterns[match.pattern]
                if pattern.target == "signature" and pattern.owner == entry:
                    yield pattern.name, match.pattern

    def _spoken(self, examined: Examined, own: Reading, texts: Iterable[str]) -> Reading:
        """Return what the user says, with the rarest words of the places where the log fails and of its end."""
        patterns = self.index.rules.patterns
        lines: dict[str, None] = {}
        for reading in examined.readings:
            for seen in reversed(reading.seen):
                kinds = {
                    patterns[match.pattern].name for match in seen.matches if patterns[match.pattern].target == "mark"
                }
                if kinds & _TELLING_MARKS and len(lines) < _MOST_LINES:
                    lines.setdefault(seen.line.text)
        for text in texts:
            lines.update(dict.fromkeys(text[-_TAIL:].split("\n")[-_TAIL_LINES:]))
        terms, lexicon = self.index.terms, self.index.lexicon
        passed = lexicon.ignore | lexicon.faint
        rare = {
            singular(word)
            for line in lines
            for word in tokens(_PLACE.sub(r"\1", line))
            if len(word) > 2 and not word.isdigit() and word not in passed
        }
        known = sorted((terms[word], word) for word in rare if word in terms)[:_MOST_WORDS]
        concepts = {(item.fact, item.value): item for item in own.concepts}
        for fact in examined.facts:
            if not fact.name.endswith(".version"):
                concepts.setdefault((fact.name, fact.value), Concept(fact.name, fact.value, str(fact.value)))
        words = dict.fromkeys((*own.words, *(word for _, word in known)))
        return Reading(tuple(concepts.values()), tuple(words), troubled=True, spoken=own.spoken)

    def _led(self, diagnosis: Diagnosis, view: View, hits: Hits, told: Sequence[Told], facts: FactSet) -> Diagnosis:
        """Name what the answers point to; where nothing was answered, the matcher has the word."""
        if not any(isinstance(item, Stated | Signs | Fits | Quoted) for item in told):
            return diagnosis
        proved = frozenset(
            entry
            for line in _confirmed(told)
            for entry in self.entries_with(line)
            for signature in self.index.by_id[entry].signatures
            if signature.strength == "decisive" and signature.name in {name for name, _ in self.names_in(entry, line)}
        )
        led = with_likeliest(diagnosis, view, hits, proved, self.index.by_id)
        if led is diagnosis:
            return with_signs_chosen(diagnosis, told, ANSWERS)
        led = with_signs_chosen(led, told, ANSWERS)
        signed = with_signs(tuple(structs.replace(item, sign="") for item in led.hypotheses), self.index)
        return without_secrets(with_advice(structs.replace(led, hypotheses=signed), facts, self.index))

    def _settled(
        self, diagnosis: Diagnosis, shift: Mapping[str, float], facts: FactSet, close: float, most: float
    ) -> Diagnosis:
        """Let the user's answers move the hypotheses, and give the advice of the one that leads now."""
        moved = shifted(diagnosis.hypotheses, shift, most)
        if moved == diagnosis.hypotheses:
            return diagnosis
        verdict: Verdict = diagnosis.verdict
        if verdict in ("matched", "ambiguous"):
            gap = moved[0].confidence - moved[1].confidence if len(moved) > 1 else 1.0
            # what was ambiguous becomes clear by parting them, not by raising all of them
            unclear = moved[0].confidence < _STANDS or verdict == "ambiguous"
            verdict = "ambiguous" if gap < close and unclear else "matched"
        if moved[0].confidence < weights.MATCHED and verdict in ("matched", "ambiguous"):
            near = structs.replace(
                diagnosis,
                verdict="unknown",
                hypotheses=(),
                because="What fitted best does not fit what you answered.",
            )
            return without_secrets(_without_advice(near, facts, self.index))
        signed = with_signs(tuple(structs.replace(item, sign="") for item in moved), self.index)
        because = diagnosis.because if verdict == diagnosis.verdict else ""
        changed = structs.replace(diagnosis, verdict=verdict, hypotheses=signed, because=because)
        return without_secrets(with_advice(changed, facts, self.index))


def _confirmed(told: Iterable[Told]) -> Iterator[str]:
    """Yield the lines that the user says stand in the output."""
    for item in told:
        if isinstance(item, Signs):
            yield from (sign.line for sign in item.seen)
        elif isinstance(item, Quoted):
            yield item.text


def _without_advice(diagnosis: Diagnosis, facts: FactSet, index: Index) -> Diagnosis:
    bare = structs.replace(diagnosis, fix=None, verify=None, checklist=(), next_questions=())
    return with_advice(bare, facts, index)


def _shifts(told: Sequence[Told], statements: Statements) -> dict[str, float]:
    """Add up what the answers say of each entry; an answer that was corrected later says nothing."""
    total: dict[str, float] = defaultdict(float)
    for item in told:
        if isinstance(item, Stated):
            values = statements.facts.values(item.fact)
            if not all(value in values for value in item.values):
                continue
        if isinstance(item, Stated | Signs | Fits):
            for entry, shift in item.shift.items():
                total[entry] += shift
    return {entry: max(-_MOST_AGAINST, min(_MOST_FOR, shift)) for entry, shift in total.items()}


def _placed(
    signatures: Sequence[object], name: str, hits: Mapping[str, list[Seen]], number: int, text: str
) -> tuple[Line, int]:
    """Return the line and the block at which a confirmed line is taken to stand."""
    from denpex_kb.model.rules import RuleSignature

    for signature in signatures:
        if not isinstance(signature, RuleSignature) or name not in signature.members or signature.within == "across":
            continue
        order = list(signature.members)
        for other in order:
            if other != name and hits.get(other):
                beside = hits[other][0]
                step = 1 if order.index(name) > order.index(other) else -1
                line = structs.replace(beside.line, text=text, offset=beside.line.offset + step)
                return line, beside.block
    return Line(ANSWERS, number, text), -1


def texts_of(files: Iterable[Path]) -> Iterable[str]:
    """Yield the ends of plain files; what cannot be read was reported when it was scanned."""
    count = 0
    for path in files:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if count >= _MOST_FILES or not file.is_file():
                continue
            count += 1
            with contextlib.suppress(OSError), file.open("rb") as stream:
                stream.seek(max(0, file.stat().st_size - _TAIL))
                yield stream.read(_TAIL).decode("utf-8", "replace")


def _words(told: Sequence[Told]) -> str:
    """Return all that was said in words."""
    return "\n".join(item.text for item in told if isinstance(item, Words))
