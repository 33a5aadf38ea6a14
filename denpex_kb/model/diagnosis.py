"""The answer: what `ask` and `diagnose` return, field for field the published JSON."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

Verdict = Literal["matched", "ambiguous", "stalled", "unknown", "healthy"]
Outcome = Literal["failed", "recovered", "completed", "stalled", "unknown"]
Scope = Literal["rank", "ranks", "all_ranks", "node", "link", "job", "undetermined"]
State = Literal["initiating", "collateral", "torn-down", "silent", "completed", "unknown"]
MarkKind = Literal["began", "error", "machine", "follows", "stopped", "ended", "summary", "completed", "stands", "last"]


class Evidence(Struct, frozen=True):
    """One reason, pointing into the user's own input."""

    what: Literal["signature", "fact", "relation", "absence", "words"]
    name: str
    file: str | None = None
    line: int | None = None
    rank: int | None = None
    time: str | None = None
    text: str = ""
    strength: str | None = None
    count: int = 1
    expected: tuple[int, ...] | None = None
    observed: tuple[int, ...] | None = None
    basis: str | None = None
    coverage: str | None = None


class Hypothesis(Struct, frozen=True):
    """An entry held against one incident."""

    id: str
    title: str
    confidence: float
    role: str
    evidence: tuple[Evidence, ...] = ()
    against: tuple[Evidence, ...] = ()
    unknown: tuple[str, ...] = ()
    origin: str = "denpex"
    sign: str = ""  # what tells it from the first hypothesis


class RuledOut(Struct, frozen=True):
    """An entry that came near and that a fact contradicts."""

    id: str
    because: str


class Near(Struct, frozen=True):
    """An entry that comes near an unknown failure, and why it does not fit."""

    id: str
    title: str
    why_not: str


class ActionAdvice(Struct, frozen=True):
    """What to do now."""

    kind: str
    text: str
    restart_helps: bool | None = None


class Initiating(Struct, frozen=True):
    """Who began it, and the line that shows it."""

    rank: int | None = None
    ranks: tuple[int, ...] = ()
    host: str | None = None
    time: str | None = None
    file: str | None = None
    line: int | None = None
    text: str = ""
    confidence: float = 0.0
    why: str = ""


class EventPlace(Struct, frozen=True):
    """The first line of a folded event."""

    file: str
    line: int
    rank: int | None
    text: str


class Collateral(Struct, frozen=True):
    """Events that another failure caused, folded."""

    ranks: tuple[int, ...]
    event: str
    count: int
    first: EventPlace
    because: str


class RankState(Struct, frozen=True):
    """What became of a rank, and the line that proves it."""

    rank: int
    state: State
    proof: EventPlace | None = None
    progress: str | None = None


class SeenValue(Struct, frozen=True, rename={"from_": "from"}):
    """One value of a fact, and where it was seen."""

    value: str | int | bool
    ranks: str | tuple[int, ...]
    from_: str


class FixSnippet(Struct, frozen=True):
    """Code of a fix, with the user's own names filled in where they are known."""

    language: str
    text: str
    when: str = ""


class FixAdvice(Struct, frozen=True):
    """The fix that fits."""

    summary: str
    steps: tuple[str, ...] = ()
    snippets: tuple[FixSnippet, ...] = ()
    applies_because: str = ""
    variant: str = ""
    notes: tuple[str, ...] = ()
    placeholders: dict[str, str] = {}  # name → how to find it
    others: tuple[str, ...] = ()  # titles of the variants for other set-ups
    needed: bool = True
    why_not: str = ""  # why no fix is needed in this set-up
    needs: tuple[str, ...] = ()  # versions that the fix needs and that are unknown here
    cost: str = ""
    undo: str = ""


class VerifyAdvice(Struct, frozen=True):
    """How to see that the fix worked."""

    command: str
    expect: str
    language: str = "bash"
    placeholders: dict[str, str] = {}  # name → how to find it


class Box(Struct, frozen=True):
    """One box of the checklist."""

    text: str
    command: str | None = None
    state: Literal["seen", "not seen", "skipped", "open"] = "open"


class Question(Struct, frozen=True):
    """A fact that would decide, and how to find it out."""

    fact: str
    question: str
    how_to_find: str
    decides: tuple[str, ...] = ()


class InputInfo(Struct, frozen=True):
    """What was read."""

    kind: str  # question | text | log | logs | stacks
    files: int = 0
    bytes: int = 0
    ranks: tuple[int, ...] = ()
    world_size: int | None = None
    lines: int = 0
    notes: tuple[str, ...] = ()


class Incident(Struct, frozen=True):
    """Events that belong together, diagnosed on their own."""

    hypotheses: tuple[Hypothesis, ...] = ()
    initiating: Initiating | None = None
    collateral: tuple[Collateral, ...] = ()
    action: ActionAdvice | None = None
    scope: Scope = "undetermined"
    targets: tuple[str, ...] = ()
    ruled_out: tuple[RuledOut, ...] = ()


class Mark(Struct, frozen=True):
    """Something that the ranks of a lane met or printed, and the first line that shows it."""

    kind: MarkKind
    name: str  # of the event, as in `collateral`
    first: EventPlace
    count: int = 1  # lines
    ranks: int = 0  # how many ranks of the lane it concerns; 0 where it is of no rank
    at: float | None = None  # seconds since the course began; the first line
    until: float | None = None  # the last line
    exact: bool = False  # whether the first line states its time
    note: str = ""  # what such a line means


class Wait(Struct, frozen=True):
    """The collective in which ranks waited, as their watchdogs or their traces name it."""

    op: str
    seq: int | None = None
    group: str = ""
    size: str = ""  # elements, as printed
    enqueued: int | None = None
    completed: int | None = None
    since: float | None = None  # seconds since the course began


class Lane(Struct, frozen=True):
    """Ranks, or machines, that did and met the same, told once."""

    ranks: tuple[int, ...]
    state: State
    hosts: tuple[str, ...] = ()  # of lines that belong to a machine or a launcher; ranks are empty then
    marks: tuple[Mark, ...] = ()
    wait: Wait | None = None
    step: str = ""  # the last one printed
    begins: float | None = None  # seconds since the course began: their first line that was read closely
    works_until: float | None = None  # their last line of progress


class Course(Struct, frozen=True):
    """What happened in one attempt, by ranks and over time; what a picture of it shows."""

    lanes: tuple[Lane, ...] = ()
    start: str | None = None  # ISO 8601; `--MM-DDThh:mm:ss` where the input states no year
    seconds: float | None = None  # from the first time to the last


class Attempt(Struct, frozen=True):
    """One start of the job."""

    number: int
    outcome: Outcome
    incidents: tuple[Incident, ...] = ()
    course: Course | None = None


class Frame(Struct, frozen=True):
    """One frame of a traceback, without the noise around it."""

    file: str
    line: int
    function: str
    code: str = ""
    own: bool = True  # the user's code, as against a library's


class TracebackCore(Struct, frozen=True):
    """A traceback cut down to what tells: the user's own frames, the last library frames, the exception."""

    exception: str
    frames: tuple[Frame, ...] = ()
    left_out: int = 0  # library frames that were left out


class Diagnosis(Struct, frozen=True, kw_only=True):
    """The whole answer; everything below `attempts` mirrors the incident that ended the last attempt."""

    schema: str = "denpex.diagnosis/1"
    verdict: Verdict
    input: InputInfo
    attempts: tuple[Attempt, ...] = ()
    hypotheses: tuple[Hypothesis, ...] = ()
    ruled_out: tuple[RuledOut, ...] = ()
    scope: Scope = "undetermined"
    targets: tuple[str, ...] = ()
    action: ActionAdvice | None = None
    initiating: Initiating | None = None
    collateral: tuple[Collateral, ...] = ()
    silent_ranks: tuple[int, ...] = ()
    ranks: tuple[RankState, ...] = ()
    facts: dict[str, tuple[SeenValue, ...]] = field(default_factory=dict)
    nearest: tuple[Near, ...] = ()
    fix: FixAdvice | None = None
    verify: VerifyAdvice | None = None
    checklist: tuple[Box, ...] = ()
    next_questions: tuple[Question, ...] = ()
    first_error: EventPlace | None = None
    core: TracebackCore | None = None  # of the first error, where nothing was recognised
    because: str = ""  # why this verdict, in one sentence
    interpreted: str = ""  # how a question was understood

    @property
    def recognised(self) -> bool:
        """Whether a failure was recognised: exit status 0."""
        return bool(self.hypotheses) and self.verdict in ("matched", "ambiguous", "stalled")
