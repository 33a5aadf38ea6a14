"""A question in words → a diagnosis."""

from __future__ import annotations

import re
from collections.abc import Callable

from denpex_kb.derive.models import derive_model_facts
from denpex_kb.index.concepts import Reading
from denpex_kb.index.open import Index
from denpex_kb.match import weights
from denpex_kb.match.questions import Answer, answer
from denpex_kb.model.conditions import spell
from denpex_kb.model.diagnosis import Diagnosis, Evidence, InputInfo, Near, Verdict
from denpex_kb.model.events import Seen
from denpex_kb.model.facts import Fact, FactSet
from denpex_kb.model.secrets import hide_secrets
from denpex_kb.pipeline.answer import fact_values, with_advice, with_signs
from denpex_kb.read.versions import named_versions

_SHOWN = 3  # hypotheses that are shown even where the first one leads by far
SignatureHits = Callable[[str], dict[str, list[Seen]]]

# What pasted logs have and questions lack.
_LOG_SIGNS = re.compile(
    r"Traceback \(most recent call last\)|^\s*File \"[^\"]+\", line \d+|^\[rank\d+\]|^\[default\d+\]|NCCL (?:INFO|WARN)"
    r"|^\S{0,40}\d\d:\d\d:\d\d|^[\w.]*(?:Error|Exception)\b.*:|^\s*\d+: |^Process \d+: |ProcessGroupNCCL",
    re.MULTILINE,
)
# What a question holds that quotes a message: then its signatures are looked for as well.
_QUOTES_MESSAGE = re.compile(
    r"(?i:error|exception|xid|nccl|cuda|assert|fail|warn|timed? ?out|exit ?code|errno|signal|killed|=|\"|`|\[)"
    r"|[a-z][A-Z]"
)


def looks_like_log(text: str) -> bool:
    """Say whether a text is a pasted log or traceback rather than a question."""
    lines = [line for line in text.splitlines() if line.strip()]
    if "Traceback (most recent call last)" in text and len(lines) > 2:
        return True
    return len(lines) >= 4 and len(_LOG_SIGNS.findall(text)) >= 0.3 * len(lines)


def quotes_message(text: str) -> bool:
    """Say whether a question seems to quote a message, so that signatures are worth looking for."""
    return bool(_QUOTES_MESSAGE.search(text))


def diagnose_question(text: str, index: Index, quoted: SignatureHits) -> Diagnosis:
    """Answer a question.

    Args:
        text: what the user asks.
        index: the open index.
        quoted: finds signatures in a text; asked only where the question seems to quote a message.
    """
    text = hide_secrets(text)
    reading = index.reader.read(text, known=index.terms)
    facts = FactSet(_stated(text, reading))
    derive_model_facts(facts, index.kb)
    hits = quoted_evidence(text, index, quoted) if quotes_message(text) else {}
    return conclude(
        answer(text, reading, facts, index, hits), reading, facts, index, len(text.encode("utf-8", "replace"))
    )


def told_facts(text: str, index: Index) -> list[Fact]:
    """Return what a person states in words: of the model, the set-up, the versions, or what is seen."""
    text = hide_secrets(text)
    return _stated(text, index.reader.read(text, known=index.terms))


def _stated(text: str, reading: Reading) -> list[Fact]:
    stated = [Fact(concept.fact, concept.value, "question", text=concept.words) for concept in reading.concepts]
    return stated + list(named_versions(text))


def conclude(found: Answer, reading: Reading, facts: FactSet, index: Index, size: int) -> Diagnosis:
    """Make the diagnosis of a question whose entries are ranked.

    Args:
        found: the ranked entries.
        reading: the question's concepts and words.
        facts: what is known, derived facts included.
        index: the open index.
        size: bytes of the question.
    """
    verdict, because = _verdict(found, facts)
    hypotheses = with_signs(found.hypotheses, index) if verdict != "unknown" else ()
    diagnosis = Diagnosis(
        verdict=verdict,
        input=InputInfo("question", bytes=size),
        hypotheses=tuple(item for place, item in enumerate(hypotheses[:6]) if item.confidence >= 0.1 or place < _SHOWN),
        ruled_out=found.ruled_out,
        facts=fact_values(facts),
        nearest=_nearest(found, index) if verdict == "unknown" else (),
        because=because,
        interpreted=_interpreted(facts, reading.corrected),
    )
    return with_advice(diagnosis, facts, index)


def quoted_evidence(text: str, index: Index, quoted: SignatureHits) -> dict[str, list[Evidence]]:
    """Return which entries' signatures a text matches, as evidence with the strength of each."""
    strengths = {
        (rule.id, signature.name): signature.strength for rule in index.rules.rules for signature in rule.signatures
    }
    evidence: dict[str, list[Evidence]] = {}
    for entry, lines in quoted(text).items():
        for seen in lines:
            for match in seen.matches:
                pattern = index.rules.patterns[match.pattern]
                if pattern.target == "signature" and pattern.owner == entry:
                    strength = strengths[(entry, pattern.name)]
                    evidence.setdefault(entry, []).append(
                        Evidence(
                            "signature",
                            pattern.name,
                            "your question",
                            seen.line.number,
                            None,
                            None,
                            seen.line.text[:200],
                            strength,
                        )
                    )
    return evidence


def _verdict(found: Answer, facts: FactSet) -> tuple[Verdict, str]:
    if not found.hypotheses or not found.recognised or found.shadowed:
        contradicted = (
            f" {found.ruled_out[0].id} would fit, but {found.ruled_out[0].because}." if found.contradicted else ""
        )
        more = (
            "" if len(facts) > 1 else " Say what you see (hang, crash, out of memory), when, and with which framework."
        )
        return "unknown", f"No entry of the catalog fits well enough.{contradicted}{more}"
    first, *rest = (item.confidence for item in found.hypotheses)
    close = 1 + sum(first - chance < weights.CLOSE_ANSWERS for chance in rest)
    if close > 1:
        return "ambiguous", f"{close} entries fit nearly alike; say more, or compare the signs under OR ELSE."
    if first < weights.ANSWERED:
        return "ambiguous", "This fits only in part; say more, or compare the signs under OR ELSE."
    return "matched", ""


def _nearest(found: Answer, index: Index) -> tuple[Near, ...]:
    near = [Near(out.id, index.entry(out.id).meta.title, f"ruled out: {out.because}") for out in found.ruled_out[:2]]
    for item in found.hypotheses[:3]:
        words = [piece.text for piece in item.evidence if piece.what == "words"]
        shared = f"shares only {', '.join(words[:5])}" if words else "shares little with the question"
        near.append(Near(item.id, item.title, f"{item.title}; {shared}"))
    return tuple(near[:4])


def _interpreted(facts: FactSet, corrected: tuple[tuple[str, str], ...]) -> str:
    said = "; ".join(
        f"{name} = {', '.join(spell(value) for value in facts.values(name))}"
        for name in facts.names()
        if any(fact.origin == "question" for fact in facts.of(name))
    )
    spelt = ", ".join(f"{wrong} as {right}" for wrong, right in corrected)
    return said + (f" (read {spelt})" if spelt else "")
