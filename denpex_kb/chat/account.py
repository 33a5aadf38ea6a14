"""What a conversation tells when it is asked: facts, reasons, the other candidates, the advice of the answer."""

from __future__ import annotations

from collections.abc import Sequence

from denpex_kb.chat.conversation import Conversation, Reply
from denpex_kb.chat.speech import ranked
from denpex_kb.model.conditions import spell
from denpex_kb.model.diagnosis import Hypothesis
from denpex_kb.model.entry import Entry
from denpex_kb.model.facts import Fact
from denpex_kb.model.secrets import hide_secrets
from denpex_kb.render.paper import Paper, Section
from denpex_kb.render.terminal import percent, render, render_brief

_MOST_RIVALS = 3
_LITTLE = 0.02  # share of the doubt below which nothing points to an entry


def facts(talk: Conversation, paper: Paper) -> None:
    """Write every fact and where it comes from."""
    if not len(talk.case.facts):
        paper.line("No fact is known yet.")
        return
    section = paper.section("FACTS")
    for name in talk.case.facts.names():
        for fact in _distinct(talk.case.facts.of(name)):
            source = f"derived: {fact.text}" if fact.origin == "derived" and fact.text else fact.source
            section.line(f"{name} = {hide_secrets(spell(fact.value))}  ({hide_secrets(source)})", hang=4)


def _distinct(facts: list[Fact]) -> list[Fact]:
    first: dict[str, Fact] = {}
    for fact in facts:
        first.setdefault(spell(fact.value), fact)
    return list(first.values())


def why(talk: Conversation, paper: Paper) -> None:
    """Write why the question is asked, and what speaks for the answer."""
    question = talk.question
    if question is not None:
        section = paper.section("ASKED")
        section.line("because of all questions its answer is expected to narrow it down most:")
        share = {entry: talk.case.view.belief.of(entry) for entry in talk.case.view.titles}
        for answer, ids in question.why:
            named = ", ".join(f"{entry} ({percent(share.get(entry, 0.0))} likely now)" for entry in ids)
            section.line(f"{answer}: {named}", indent=2, hang=2)
        section.line(f"Find out: {question.find}", "dim")
        paper.blank()
    if talk.case.diagnosis.recognised:
        render_brief(talk.diagnosis, paper)
        best, *rest = talk.case.diagnosis.hypotheses
        if best.unknown:
            paper.section("OPEN").line("not known yet: " + ", ".join(best.unknown), "dim")
        if rest:
            paper.blank()
            _rivals(rest, paper)
    elif question is None:
        paper.line("There is no answer yet that could be explained.")


def _rivals(rest: Sequence[Hypothesis], paper: Paper) -> None:
    """Write what comes next, and what would speak for it instead."""
    section = paper.section("RATHER")
    section.line("than the next ones:", "dim")
    for item in rest[:_MOST_RIVALS]:
        section.line(f"{item.id} ({percent(item.confidence)})", indent=2, hang=2)
        if item.sign:
            section.line(f"its sign: {item.sign}".replace("`", ""), "dim", 4)


def why_not(entry: Entry, talk: Conversation, paper: Paper) -> None:
    """Write what speaks against an entry, and what it would show."""
    paper.line(entry.meta.title, "bold")
    paper.line(entry.id, "dim")
    paper.blank()
    section = paper.section("WHY NOT")
    out = next((item for item in talk.case.diagnosis.ruled_out if item.id == entry.id), None)
    if out is not None:
        section.line(f"Ruled out: {hide_secrets(out.because)}.", "warn")
        wrong = out.because.partition(" (")[0]
        section.line(f"If {wrong} is wrong, say what is right and it comes back.", "dim")
    else:
        _doubts(entry, talk, section)
        _missing(entry, talk, section)
    if entry.meta.requires:
        section.line("It needs: " + "; ".join(entry.meta.requires))


def _doubts(entry: Entry, talk: Conversation, section: Section) -> None:
    hypotheses = talk.case.diagnosis.hypotheses
    found = next((item for item in hypotheses if item.id == entry.id), None)
    if found is None:
        near = talk.case.view.belief.of(entry.id) >= _LITTLE
        section.line("Little of what you told points to it." if near else "Nothing that you told points to it.")
    elif found is hypotheses[0]:
        section.line(f"It is the likeliest so far ({percent(found.confidence)}); why says what speaks for it.")
    else:
        _second(found, hypotheses[0], section)


def _second(found: Hypothesis, best: Hypothesis, section: Section) -> None:
    said = f"It is possible ({percent(found.confidence)}), but {best.id} fits better ({percent(best.confidence)})."
    section.line(said)
    if found.sign:
        section.line(f"Its own sign: {found.sign}".replace("`", ""))
    for item in found.against:
        section.line(f"against: {hide_secrets(item.text)}", "warn")


def _missing(entry: Entry, talk: Conversation, section: Section) -> None:
    """Write lines that the entry would show and that were not told."""
    seen = talk.case.hits.get(entry.id, {})
    missing = [
        signature.examples[0]
        for signature in entry.meta.signatures
        if signature.examples and signature.strength in ("decisive", "strong") and signature.name not in seen
    ]
    if missing:
        section.line("It would show, for example:")
    for example in missing[:2]:
        section.clipped(example.strip(), "code", 2)


def others(talk: Conversation, paper: Paper) -> None:
    """Write everything in view, the likeliest first."""
    diagnosis = talk.case.diagnosis
    shown = {item.id for item in diagnosis.hypotheses}
    if diagnosis.recognised:
        section = paper.section("RANKED")
        for item in diagnosis.hypotheses[:8]:
            ranked(item, section)
            if item.sign:
                section.line(f"its sign: {item.sign}".replace("`", ""), "dim", 6)
        paper.blank()
    view = talk.case.view
    others = [entry for entry in view.belief.best(8) if entry not in shown and view.belief.of(entry) >= 0.01]
    if others:
        section = paper.section("IN VIEW")
        section.line("not shown by what you told, and not excluded:", "dim")
        for entry in others:
            section.line(f"{view.titles[entry]}  [{entry}]", indent=2, hang=2)
        paper.blank()
    for out in diagnosis.ruled_out[:4]:
        paper.section("NOT").line(f"{out.id}: {hide_secrets(out.because)}", "dim", hang=2)
    if not diagnosis.recognised and not others and not diagnosis.ruled_out:
        paper.line("Nothing is in view yet.")


def summary(talk: Conversation, paper: Paper) -> None:
    """Write what the conversation came to."""
    diagnosis = talk.case.diagnosis
    section = paper.section("SUMMARY")
    if diagnosis.recognised:
        best = diagnosis.hypotheses[0]
        section.line(
            f"{'' if talk.settled else 'Not sure; likeliest so far: '}{best.title} ({percent(best.confidence)})"
        )
        section.line(best.id, "dim")
    else:
        section.line(diagnosis.because or "Nothing was recognised.")
    answered = sum(bool(turn.asked) for turn in talk.turns)
    told = len(talk.turns) - answered
    facts_known = len(talk.case.facts)
    counts = (
        f"{told} message{'s' * (told != 1)}, {answered} question{'s' * (answered != 1)},"
        f" {facts_known} fact{'s' * (facts_known != 1)} known"
    )
    section.line(f"{counts}; save FILE keeps it as Markdown", "dim")


def advice(reply: Reply, talk: Conversation, paper: Paper) -> str:
    """Write the fix, the verification, the checklist or the whole of the answer, or an entry of the catalog."""
    diagnosis = talk.diagnosis
    if reply.kind == "show" and reply.entry is not None:
        from denpex_kb.render.entries import entry_text

        return entry_text(reply.entry, paper)
    if reply.kind == "answer" or not diagnosis.hypotheses:
        return render(diagnosis, paper)
    entry = talk.index.entry(diagnosis.hypotheses[0].id)
    if reply.kind == "fix" and diagnosis.fix is not None and diagnosis.verify is not None:
        from denpex_kb.render.fixes import fix_text

        return _hedged(talk, fix_text(entry, diagnosis.fix, (), diagnosis.verify, (), paper))
    if reply.kind == "verify" and diagnosis.verify is not None:
        from denpex_kb.advise.verification import make_runnable
        from denpex_kb.render.fixes import verify_text

        runnable = make_runnable(diagnosis.verify, {})
        launch = runnable.launch if runnable.name not in ("verify.sh", "verify.py") else ""
        return verify_text(entry, diagnosis.verify, launch, paper)
    from denpex_kb.render.checklists import checklist_text

    return checklist_text(entry, diagnosis.checklist, "", paper)


def _hedged(talk: Conversation, text: str) -> str:
    """Put in front of a fix that its cause is not certain yet."""
    best = talk.case.diagnosis.hypotheses[0]
    if talk.settled:
        return text
    return f"Not certain yet ({percent(best.confidence)}); this is the fix if it is what fits best so far.\n\n{text}"
