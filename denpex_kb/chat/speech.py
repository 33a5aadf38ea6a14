"""A reply on the terminal: what was learnt, where things stand, and the question with its keys."""

from __future__ import annotations

import re

from denpex_kb.chat.conversation import Conversation, Reply
from denpex_kb.chat.question import Question
from denpex_kb.model.diagnosis import Hypothesis
from denpex_kb.model.display import one_line
from denpex_kb.model.secrets import hide_secrets
from denpex_kb.render.paper import Paper, Section
from denpex_kb.render.terminal import percent, render_brief

_MOST_LEARNT = 8
_MOST_IN_VIEW = 3
_LEAST_IN_VIEW = 0.04  # share of the doubt
_MOST_ROWS = 2  # of a line that is asked about
_CUT = "The traceback breaks off before its last line, which says what happened. Paste that line if you have it."
_PREFIX = re.compile(r"^\[(?:rank|default)\d+\]:?\s*")  # whose line it is varies
GREETING = (
    "Say what you see, paste a log or a traceback, or drop files here. help lists the commands; Ctrl-D leaves."
    " Nothing leaves this machine, and nothing is written unless you save it."
)
_HELP = (
    ("text, a paste, paths", "what you see; several add up. Alt-Enter: a new line; scripts: pastes in triple quotes"),
    ("1, y, none, d", "the answer to a question by its key; d: don't know, show me how to find out"),
    ("it is stage 2", "corrects a fact; zero.stage = 2 does as well"),
    ("facts", "everything learnt so far, and where from"),
    ("why", "why this question, and what speaks for the answer"),
    ("why not ID", "what speaks against an entry; a part of its id is enough"),
    ("what else", "everything in view, the likeliest first"),
    ("show fix, how do I verify, checklist", "for the answer, with your versions and names filled in"),
    ("answer", "the whole answer;  show ID prints an entry"),
    ("undo, forget FACT", "takes the last thing told back; takes one answer back"),
    ("summary, save FILE", "where things stand; the same as Markdown in a new file"),
    ("quit", "leaves, as Ctrl-D does"),
)  # fmt: skip


def speak(reply: Reply, talk: Conversation, paper: Paper, *, last: bool = False) -> str:
    """Write a reply; behind the last one no question stands any more."""
    from denpex_kb.chat.account import advice, facts, others, summary, why, why_not

    if reply.note and reply.kind != "save":
        paper.line(hide_secrets(reply.note), "warn" if reply.trouble else "plain")
    if reply.kind in ("fix", "verify", "checklist", "answer", "show"):
        return advice(reply, talk, paper)
    if reply.kind == "turn":
        paper.blank()
        _turn(reply, talk, paper)
    elif reply.kind == "summary" and talk.told:
        if not last:
            stand(talk, paper)
        summary(talk, paper)
    elif reply.kind == "why-not" and reply.entry is not None:
        why_not(reply.entry, talk, paper)
    elif reply.kind == "help":
        _help(paper)
    else:
        writers = {"facts": facts, "why": why, "else": others}
        writers.get(reply.kind, _nothing)(talk, paper)
    if reply.kind not in ("turn", "quit", "save", "why") and talk.question is not None and not last:
        paper.blank()
        _question(talk.question, talk, paper, again=True)
    text = paper.text()
    return text if text.strip() else ""


def _nothing(talk: Conversation, paper: Paper) -> None:
    """Write nothing more than the note."""


def _help(paper: Paper) -> None:
    for keys, meaning in _HELP:
        paper.line(keys, "bold")
        paper.line(meaning, indent=4)


def _turn(reply: Reply, talk: Conversation, paper: Paper) -> None:
    if reply.find:
        paper.section("FIND OUT").line(reply.find, "code")
        paper.blank()
    if reply.learnt:
        shown = "; ".join(reply.learnt[:_MOST_LEARNT])
        more = f" and {len(reply.learnt) - _MOST_LEARNT} more (facts)" if len(reply.learnt) > _MOST_LEARNT else ""
        paper.section("NOTED").line(hide_secrets(shown) + more, "dim")
        paper.blank()
    if not (reply.unmoved and talk.question is not None):
        stand(talk, paper)
    if talk.question is not None:
        _question(talk.question, talk, paper)
    elif talk.settled:
        commands = "show fix, how do I verify, checklist, why, what else, answer (all of it), save FILE"
        paper.section("NEXT").line(commands, "dim")
    elif talk.told:
        _at_a_loss(talk, paper)


def stand(talk: Conversation, paper: Paper) -> None:
    """Write where things stand: the answer where there is one, else what is in view."""
    diagnosis = talk.case.diagnosis
    if not talk.told:
        paper.line("Nothing is told yet.")
    elif talk.settled or diagnosis.verdict == "healthy":
        render_brief(diagnosis, paper)
    elif diagnosis.recognised:
        section = paper.section("SO FAR")
        for item in diagnosis.hypotheses[:_MOST_IN_VIEW]:
            ranked(item, section)
    else:
        _unnamed(talk, paper)
    paper.blank()
    if talk.case.cut:
        paper.section("MISSING").line(_CUT, "warn")
        paper.blank()
    for note in diagnosis.input.notes[:3]:
        paper.section("NOTE").line(note, "warn")


def _unnamed(talk: Conversation, paper: Paper) -> None:
    """Write what is in view while nothing can be named."""
    diagnosis, view = talk.case.diagnosis, talk.case.view
    section = paper.section("SO FAR")
    section.line(diagnosis.because or "No entry stands out yet.")
    named = [entry for entry in view.belief.best(_MOST_IN_VIEW) if view.belief.of(entry) >= _LEAST_IN_VIEW]
    if named:
        section.line("It could be:", "dim")
    for entry_id in named:
        section.line(f"{view.titles[entry_id]}  [{entry_id}]", indent=2, hang=2)
    error = diagnosis.first_error
    if error is not None:
        section.line(f"First error: {one_line(error.file)}:{error.line}", "dim")
        section.clipped(error.text, "bad", 2)


def ranked(item: Hypothesis, section: Section) -> None:
    """Write one hypothesis with its confidence."""
    section.line(f"{percent(item.confidence):>4}  {item.title}", hang=6)
    section.line(item.id, "dim", 6)


def _question(question: Question, talk: Conversation, paper: Paper, *, again: bool = False) -> None:
    section = paper.section("QUESTION")
    section.line(question.text, "bold")
    unknown = "[d] don't know" if again else "[d] don't know, show me how to find out"
    if question.kind == "lines":
        for choice in question.choices:
            line = _PREFIX.sub("", choice.label)
            if len(question.choices) > 1:
                section.quoted(f"[{choice.key}] {line}", "code", 2, _MOST_ROWS, hang=4)
            else:
                section.quoted(line, "code", 2, _MOST_ROWS)
        single = len(question.choices) == 1
        section.items([*(("[y] yes", "[n] no") if single else ("[n] none of these",)), unknown], indent=2)
    elif question.kind == "signs":
        for choice in question.choices:
            section.line(f"[{choice.key}] {choice.label}", indent=2, hang=6)
            section.line(talk.case.view.titles.get(str(choice.value), str(choice.value)), "dim", 6)
        section.items(["[n] none of these", unknown], indent=2)
    elif question.kind == "paste":
        none = "none" if question.part is not None and question.part.kind == "log" else "no more"
        section.items(["paste it, or drop the file here", f"[d] I have {none}, show me where to find it"], indent=2)
    elif question.kind == "version":
        section.items(["type it, e.g. 1.2.3", unknown], indent=2)
    else:
        section.items([*(f"[{choice.key}] {choice.label}".rstrip() for choice in question.choices), unknown], indent=2)
    if not again:
        reason = because(question)
        if reason:
            section.line(reason, "dim")


def because(question: Question) -> str:
    """Say in one sentence why a question is asked."""
    if question.kind in ("lines", "signs"):
        if len(question.choices) == 1:
            return f"A yes speaks for {question.why[0][1][0]}."
        return "Each of them belongs to one failure (why names these)."
    if not question.why:
        return ""
    (answer, ids), *more = question.why[:3]
    further = "".join(f"; {other} for {' or '.join(for_ids[:2])}" for other, for_ids in more)
    return f"{answer} speaks for {' or '.join(ids[:2])}{further}."


def _at_a_loss(talk: Conversation, paper: Paper) -> None:
    diagnosis = talk.case.diagnosis
    section = paper.section("UNSURE")
    section.line("No further question would decide." if len(talk.turns) > 1 else "There is nothing to ask yet.")
    if diagnosis.verdict == "healthy":
        return
    if not talk.case.has_log:
        section.line("Paste the log, or drop the folder with every rank's log here.")
    else:
        section.line("More of it decides: the other ranks' logs, py-spy dumps of a job that hangs, dmesg of the node.")
    if diagnosis.recognised:
        section.line("show fix, why, what else and answer tell what is known so far.", "dim")
