"""How processes ended, as their launchers print it: rank, host, exit code or signal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from denpex_kb.derive.blocks import mark_values
from denpex_kb.model.events import Line, Reading, Seen
from denpex_kb.model.rules import RuleSet

SIGNALS = {
    "SIGHUP": 1, "SIGINT": 2, "SIGQUIT": 3, "SIGILL": 4, "SIGABRT": 6, "SIGBUS": 7, "SIGFPE": 8, "SIGKILL": 9,
    "SIGSEGV": 11, "SIGPIPE": 13, "SIGTERM": 15, "SIGXFSZ": 25,
    "Aborted": 6, "Segmentation fault": 11, "Bus error": 7, "Floating point exception": 8, "Illegal instruction": 4,
}  # fmt: skip
_SHELL = 128  # a shell adds this to the number of the signal
_TOLD = frozenset({"srun-task-terminated", "slurm-task-failure"})
_BLOCK = frozenset({"block-host", "block-rank", "block-exitcode"})


class Exit(Struct, frozen=True):
    """The end of one process: a code from 0, or minus the number of a signal."""

    code: int
    seen: Seen
    rank: int | None = None
    local_rank: int | None = None
    tasks: tuple[int, ...] = ()
    pid: int | None = None
    host: str | None = None
    named: bool = True  # the line is about this process, not only printed with its command


def read_exits(reading: Reading, rules: RuleSet) -> Iterator[Exit]:
    """Go through the ends of processes that one file states; a block of torchrun gives one for each of its entries."""
    entries: dict[object, dict[str, str]] = {}
    over = False  # whether some task has ended: srun kills the others then
    held: tuple[Seen, dict[str, str]] | None = None  # a launcher that states the rank on one line, the code on another
    for seen in reading.seen:
        marks = [rules.patterns[match.pattern] for match in seen.matches]
        names = {mark.owner for mark in marks if mark.target == "mark"}
        kinds = {mark.name for mark in marks if mark.target == "mark"}
        if names & _TOLD and not over and (killed := _killed(seen, mark_values(seen, rules))) is not None:
            yield killed
        over = over or bool(names & _TOLD or kinds & {"exit", "teardown"})
        if "exit" not in kinds and not names & _BLOCK:
            continue
        values = mark_values(seen, rules)
        if names & _BLOCK:
            yield from _of_block(names, seen, values, entries)
            continue
        if "mpirun-process-name" in names or "mpich-termination" in names:
            held = (seen, values)
            continue
        code = code_of(values)
        if names & {"mpirun-exit-code", "mpich-exit-code"} and held is not None:
            if code is not None:
                yield _exit(code, *held)
            held = None
        elif code is not None:
            yield _exit(code, seen, values, named="deepspeed-exit" not in names)


def _of_block(
    names: set[str], seen: Seen, values: dict[str, str], entries: dict[object, dict[str, str]]
) -> Iterator[Exit]:
    entry = entries.setdefault(_output(seen.line), {})
    if "block-host" in names:
        entry.clear()
    entry.update(values)
    if "block-exitcode" in names and (code := code_of(entry)) is not None:
        yield _exit(code, seen, entry)
        entries.pop(_output(seen.line), None)


def _killed(seen: Seen, values: Mapping[str, str]) -> Exit | None:
    """Return the end of the one task that was killed before srun had a reason to end any."""
    tasks = numbers(values.get("task", ""))
    return _exit(-SIGNALS["SIGKILL"], seen, values) if values.get("told") == "Killed" and len(tasks) == 1 else None


def code_of(values: Mapping[str, str]) -> int | None:
    """Return the exit code that a line states, minus the signal's number where a signal ended the process."""
    text = values.get("exitcode", "")
    if text.lstrip("-").isdigit():
        code = int(text)
        return _SHELL - code if _SHELL < code <= _SHELL + 31 else code
    signal = values.get("signal", "")
    if signal.isdigit():
        return -int(signal)
    return -SIGNALS[signal] if signal in SIGNALS else None


def numbers(text: str) -> tuple[int, ...]:
    """Read a list of numbers with ranges, as launchers write it: `0-3,5`."""
    found: list[int] = []
    for part in text.replace(" ", "").split(","):
        first, _, last = part.partition("-")
        if first.isdigit():
            stop = int(last) if last.isdigit() else int(first)
            found += range(int(first), min(stop, int(first) + 100_000) + 1)
    return tuple(found)


def _exit(code: int, seen: Seen, values: Mapping[str, str], *, named: bool = True) -> Exit:
    return Exit(
        code,
        seen,
        _number(values, "rank"),
        _number(values, "local_rank"),
        numbers(values.get("task", "")),
        _number(values, "pid"),
        values.get("host") or seen.line.host or seen.line.ip,
        named,
    )


def _number(values: Mapping[str, str], name: str) -> int | None:
    text = values.get(name, "")
    return int(text) if text.isdigit() else None


def _output(line: Line) -> object:
    return line.task, line.host, line.ip, line.rank, line.local_rank


def by_rank(exits: Iterable[tuple[int, Exit]]) -> dict[int, Exit]:
    """Keep the first end of each rank."""
    found: dict[int, Exit] = {}
    for rank, item in exits:
        found.setdefault(rank, item)
    return found
