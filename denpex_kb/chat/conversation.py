"""A conversation: takes what is typed, keeps what was told, says what to show; it reads files and writes none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct, structs

from denpex_kb.advise.settings import read_settings
from denpex_kb.chat.acts import (
    Command,
    chosen,
    command_of,
    files_of,
    named_value,
    plainly,
    refusing,
    setting_of,
    unknowing,
    value_of,
    version_of,
)
from denpex_kb.chat.asking import cross_check, next_question
from denpex_kb.chat.case import Case, CaseReader
from denpex_kb.chat.joining import is_end
from denpex_kb.chat.missing import Missing
from denpex_kb.chat.question import Question
from denpex_kb.chat.told import Files, Paste, Quoted, Stated, Told, Words, unanswered
from denpex_kb.errors import DenpexError, InputError, UnknownEntryError, UsageError
from denpex_kb.index.open import Index
from denpex_kb.model.conditions import spell
from denpex_kb.model.diagnosis import Diagnosis
from denpex_kb.model.entry import Entry
from denpex_kb.model.facts import Fact
from denpex_kb.pipeline.question import looks_like_log, quotes_message
from denpex_kb.read.versions import named_versions

SURE = 0.66  # the share of belief from which on an answer is given as such
SURE_WORDS = 0.8  # confidence of an answer to words alone
SURE_STALLED = 0.8  # the same where no message says what happened, only how the ranks stand
_MOST_QUESTIONS = 8  # asked in a row before the conversation stops asking by itself
_MOST_UNKNOWN = 4  # the same where none of them could be answered
_LOST = (
    "Nothing in that is known to the catalog. Say what you see (hang, crash, out of memory), when, and with which"
    " framework; or paste the log."
)
_NO_ANSWER = (
    "That is no answer to the question, and nothing in it is known to the catalog. Type one of the keys in brackets,"
    " d if you do not know, or help."
)
_WORDS = 4000  # characters up to which a text may be a message in words

Kind = Literal[
    "turn", "facts", "why", "why-not", "else", "fix", "verify", "checklist", "answer", "show", "help", "note",
    "summary", "save", "quit",
]  # fmt: skip


class Reply(Struct, frozen=True):
    """What to show: the kind of it, a sentence, and what was learnt from this turn."""

    kind: Kind
    note: str = ""
    learnt: tuple[str, ...] = ()
    find: str = ""  # how to find out what the user does not know
    entry: Entry | None = None
    trouble: bool = False  # something that was typed could not be used
    unmoved: bool = False  # what was told changes nothing of where things stand


class Turn(Struct, frozen=True):
    """One exchange, for the summary."""

    asked: str
    said: str


class Conversation:
    """Where a conversation stands; every change of it is one more item told, so that it can be taken back."""

    def __init__(self, index: Index) -> None:
        """Begin with nothing told."""
        self._reader = CaseReader(index)
        self._told: list[Told] = []
        self._turns: list[Turn] = []
        self._pasted = 0
        self._questions = 0
        self.case: Case = self._reader.read([])
        self.question: Question | None = None

    @property
    def index(self) -> Index:
        """The open index."""
        return self._reader.index

    @property
    def told(self) -> Sequence[Told]:
        """What was told so far."""
        return self._told

    @property
    def turns(self) -> Sequence[Turn]:
        """The exchanges so far."""
        return self._turns

    @property
    def sure(self) -> bool:
        """Whether one specific failure stands out: the conversation may end with it."""
        best = self.case.diagnosis.hypotheses[0] if self.case.diagnosis.recognised else None
        if best is None or self.case.diagnosis.verdict == "ambiguous" or self.case.cut:
            return False
        if not self.case.has_log and best.confidence < SURE_WORDS:
            return False
        rule = self.index.by_id[best.id]
        return (
            rule.standing == "specific"
            and self.case.view.belief.best(1) == [best.id]
            and self.case.view.belief.of(best.id)
            >= (SURE_STALLED if self.case.diagnosis.verdict == "stalled" else SURE)
        )

    @property
    def settled(self) -> bool:
        """Whether there is an answer to show as such, be it only the kind of failure and who began it."""
        return self.sure or self.case.answered

    @property
    def diagnosis(self) -> Diagnosis:
        """The diagnosis as it is shown: while it is not settled, what is recognised is only the likeliest."""
        diagnosis = self.case.diagnosis
        if self.settled or diagnosis.verdict != "matched":
            return diagnosis
        return structs.replace(diagnosis, verdict="ambiguous")

    def say(self, text: str, *, pasted: bool = False) -> Reply:
        """Take one input and return what to show.

        Args:
            text: what was typed or pasted.
            pasted: whether it is known to be a paste; then it is no command and no answer.
        """
        if not text.strip():
            return Reply("turn") if self._told or self.question else Reply("note", "Say what you see, or paste a log.")
        try:
            return self._say(text, pasted=pasted)
        except DenpexError as error:
            return Reply("note", str(error), trouble=True)

    def _say(self, text: str, *, pasted: bool) -> Reply:
        short = len(text) <= _WORDS and not pasted
        understood = self._short(text) if short else None
        if understood is not None:
            return understood
        handed = self._handed_in(text)
        if handed is not None:
            return handed
        lines = text.count("\n") + 1
        if (not short or looks_like_log(text)) and (lines > 1 or len(text) > _WORDS):
            return self._paste(text)
        if self.question is None and (unknowing(text) or len(text.strip()) == 1):
            return Reply("note", "No question stands open. Tell more, or: help", trouble=True)
        if not self._says_something(text):
            return Reply("note", _LOST if self.question is None else _NO_ANSWER, trouble=True)
        return self._take(Words(text), text.strip())

    def _short(self, text: str) -> Reply | None:
        """Take what is no message in words: an answer, a command, files, a fact; None where it is none of them."""
        answer = self._answer(text)
        if answer is not None:
            return answer
        command = command_of(text)
        if command is not None:
            return self._command(command)
        files = files_of(text)
        if files:
            wanted = self.question if self.question is not None and self.question.kind == "paste" else None
            return self._take(Files(tuple(files), wanted.key if wanted is not None else ""), text.strip())
        setting = setting_of(text) or "=".join(named_value(text, self.index.kb.facts) or ())
        stated = self._stated(setting) if setting else None
        return self._take(stated, text.strip()) if stated is not None else None

    def _paste(self, text: str, part: Missing | None = None) -> Reply:
        lines = text.count("\n") + 1
        self._pasted += 1
        name = "pasted text" if self._pasted == 1 else f"pasted text {self._pasted}"
        where = (part.key, part.file, part.line) if part is not None else ("", "", 0)
        return self._take(Paste(name, text, *where), f"[pasted {lines:,} line{'s' * (lines != 1)}]")

    def _handed_in(self, text: str) -> Reply | None:
        """Take lines of the run's output where they were asked for, or where one is quoted beside a log."""
        asked = self.question if self.question is not None and self.question.kind == "paste" else None
        line = text.strip()
        end = self._end_of_traceback(line)
        if end is not None:
            if "\n" in line:
                return self._paste(text, end)
            return self._take(Quoted(line, end.key, end.file, end.line), line)
        if asked is not None and ("\n" in line or len(line) > _WORDS):
            return self._paste(text, asked.part)
        if "\n" in line or len(line) > _WORDS or not self.case.has_log or not quotes_message(line):
            return None
        if asked is not None or self._reader.entries_with(line):
            part = asked.part if asked is not None else None
            if part is not None and part.kind == "traceback":
                return self._take(Quoted(line, part.key, part.file, part.line), line)
            return self._take(Quoted(line, part.key if part is not None else ""), line)
        return None

    def _end_of_traceback(self, text: str) -> Missing | None:
        """Return the traceback that breaks off, where the text is its end: one may be asked about something else."""
        if not self.case.cut or not is_end(text):
            return None
        return next((part for part in self.case.missing if part.kind == "traceback"), None)

    def _says_something(self, text: str) -> bool:
        """Say whether a message holds anything that the catalog knows."""
        reading = self.index.reader.read(text, known=self.index.terms)
        if reading.concepts or any(word in self.index.terms for word in reading.words):
            return True
        return any(True for _ in named_versions(text)) or bool(quotes_message(text) and self._reader.entries_with(text))

    def _stated(self, setting: str) -> Stated | None:
        """Read `fact=value`; None where it names no fact, for it may be a quoted message."""
        name = setting.partition("=")[0].strip()
        known = {fact.name for fact in self.index.kb.facts} | {"model", "family", "stage"}
        if name not in known and f"{name}.version" not in known:
            return None
        try:
            facts, _ = read_settings([setting], self.index.kb)
        except UsageError as error:
            raise InputError(str(error).removeprefix("--set ")) from error
        return Stated(facts[0].name, (facts[0].value,)) if facts else None

    # --- answers

    def _answer(self, text: str) -> Reply | None:
        question = self.question
        if question is None:
            return None
        if unknowing(text):
            return self._take(question.passed(), text.strip(), find=question.find)
        if question.kind == "paste" and refusing(text):
            return self._take(question.passed(), text.strip(), find=question.find)
        choices = chosen(text, question)
        if choices is None and plainly(text) != text.strip():
            choices = chosen(plainly(text), question)
        if choices is not None:
            said = ", ".join(choice.label or choice.key for choice in choices) or "none of them"
            return self._take(question.answered(choices), said)
        declared = self.index.kb.fact(question.fact) if question.fact else None
        if declared is not None and question.kind == "version":
            version = version_of(text)
            if version is not None:
                return self._take(Stated(question.fact, (version,)), text.strip())
        elif declared is not None and (value := value_of(text, declared)) is not None:
            return self._take(Stated(question.fact, (value,)), text.strip())
        return None

    def _take(self, item: Told, said: str, find: str = "") -> Reply:
        """Add what was told, work the case out anew, and choose the next question."""
        before = self.case
        told = [*self._told, item]
        case = self._reader.read(told)  # where this fails, nothing was told
        asked = self.question.text if self.question is not None else ""
        self._told = told
        self._turns.append(Turn(asked, said))
        self.case = case
        self._ask()
        unmoved = before.diagnosis.verdict == case.diagnosis.verdict and (
            before.diagnosis.hypotheses == case.diagnosis.hypotheses and before.view == case.view
        )
        return Reply("turn", learnt=_learnt(before, case), find=find, unmoved=unmoved)

    def _ask(self) -> None:
        self.question = None
        if not self.sure and len(self._told) and self._questions < _MOST_QUESTIONS:
            last = self._questions == _MOST_QUESTIONS - 1 or unanswered(self._told) >= _MOST_UNKNOWN
            self.question = next_question(self.case, self._told, self._reader, last=last)
        elif self.sure:
            self.question = cross_check(self.case, self._told, self._reader)
        self._questions = self._questions + 1 if self.question is not None else 0

    # --- commands

    def _command(self, command: Command) -> Reply:
        name = command.name
        if name == "undo":
            return self._undo()
        if name == "forget":
            return self._forget(command.argument)
        if name == "save":
            return Reply("save", command.argument)
        if name == "save-where":
            return Reply("note", "Save it where? For example: save incident.md", trouble=True)
        if name in ("show", "why-not", "why-entry"):
            return self._about(name, command.argument)
        if name in ("fix", "verify", "checklist") and not self.case.diagnosis.recognised:
            return Reply("note", f"There is no answer yet, so no {name}. Go on, or: show ID", trouble=True)
        kinds: dict[str, Kind] = {
            "help": "help", "facts": "facts", "why": "why", "else": "else", "fix": "fix", "verify": "verify",
            "checklist": "checklist", "answer": "answer", "summary": "summary", "quit": "quit",
        }  # fmt: skip
        return Reply(kinds[name])

    def _undo(self) -> Reply:
        if not self._told:
            return Reply("note", "Nothing was told yet; there is nothing to take back.", trouble=True)
        before = self.case
        told, turn = self._told[:-1], self._turns[-1]
        self.case = self._reader.read(told)
        self._told = told
        self._turns.pop()
        self._questions = 0
        self._ask()
        gone = _learnt(self.case, before)
        return Reply("turn", f"Taken back: {turn.said}", tuple(f"no longer {item}" for item in gone))

    def _forget(self, name: str) -> Reply:
        """Take back every answer that states one fact."""
        left = [item for item in self._told if not (isinstance(item, Stated) and item.fact == name)]
        if len(left) == len(self._told):
            return Reply("note", f"You stated no {name}; what words or logs say is taken back with undo.", trouble=True)
        before = self.case
        self.case = self._reader.read(left)
        kept = [turn for item, turn in zip(self._told, self._turns, strict=True) if item in left]
        self._told, self._turns, self._questions = left, kept, 0
        self._ask()
        return Reply("turn", f"Forgotten: {name}", _learnt(before, self.case))

    def _about(self, name: str, wanted: str) -> Reply:
        """Find the entry that an id, a part of one, or a place in the ranking means."""
        entry = self._entry(wanted.strip().strip("`'\""))
        if name == "show":
            return Reply("show", entry=entry)
        best = self.case.diagnosis.hypotheses[:1]
        if name == "why-entry" and best and best[0].id == entry.id:
            return Reply("why")
        return Reply("why-not", entry=entry)

    def _entry(self, wanted: str) -> Entry:
        try:
            return self.index.entry(wanted)
        except UnknownEntryError:
            diagnosis = self.case.diagnosis
            shown = [item.id for item in diagnosis.hypotheses] + [item.id for item in diagnosis.ruled_out]
            near = [*shown, *self.case.view.belief.best(20)]
            parts = [part for part in wanted.lower().replace("-", " ").split() if part]
            whole = [entry_id for entry_id in near if parts and set(parts) <= set(entry_id.split("-"))]
            part_of = [entry_id for entry_id in near if parts and all(part in entry_id for part in parts)]
            anywhere = [entry_id for entry_id in self.index.ids() if parts and all(part in entry_id for part in parts)]
            if whole or part_of or len(anywhere) == 1:
                return self.index.entry((whole or part_of or anywhere)[0])
            raise


def _learnt(before: Case, after: Case) -> tuple[str, ...]:
    """Return the facts that are new or changed, each with where it comes from."""
    known = {(fact.name, spell(fact.value)) for fact in before.facts}
    new: dict[str, list[Fact]] = {}
    for fact in after.facts:
        if (fact.name, spell(fact.value)) not in known:
            new.setdefault(fact.name, []).append(fact)
    return tuple(
        f"{name} = {', '.join(dict.fromkeys(spell(fact.value) for fact in facts))}"
        + (f" ({facts[0].source})" if facts[0].file else "")
        for name, facts in new.items()
    )
