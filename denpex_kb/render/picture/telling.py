"""What a lane and its marks say, in words."""

from __future__ import annotations

from collections.abc import Sequence

from denpex_kb.model.diagnosis import Lane, Mark, MarkKind, Wait
from denpex_kb.model.display import spans

_MOST_SPANS = 40  # characters in which ranks are named
_MOST_PLACE = 34  # characters of a file's name
_SIGNALS = {"6": "SIGABRT", "7": "SIGBUS", "9": "SIGKILL", "11": "SIGSEGV", "15": "SIGTERM", "2": "SIGINT"}


def named(ranks: Sequence[int]) -> tuple[str, str]:
    """Name ranks in a few words, and what is said below it: how many they are, or the first of them."""
    text = spans(ranks)
    if len(text) <= _MOST_SPANS:
        return f"{'rank' if len(ranks) == 1 else 'ranks'} {text}", f"{len(ranks):,} ranks" if len(ranks) > 2 else ""
    return f"{len(ranks):,} ranks", text[:_MOST_SPANS].rsplit(",", 1)[0] + ", …"


def machines(hosts: Sequence[str]) -> str:
    """Name hosts in a few words; lines of no host belong to the job."""
    if not hosts:
        return "the job"
    return ", ".join(hosts[:2]) + (f" and {len(hosts) - 2} more hosts" if len(hosts) > 2 else "")


def headline(lane: Lane) -> str:
    """Say in one line what a lane did and how it ended."""
    kinds = {mark.kind for mark in lane.marks}
    if not lane.ranks and "began" not in kinds:
        return _of_machines(lane, kinds)
    parts: list[str] = []
    if lane.step:
        parts.append(f"worked to step {lane.step}")
    parts += [mark.note for mark in lane.marks if mark.kind == "stands" and mark.note and mark.name == "stack"][:1]
    if "began" in kinds:
        parts.append(_beginning(lane))
    elif "error" in kinds:
        parts.append("met an error of its own")
    wait = lane.wait
    if wait is not None and wait.op:
        seq = f", collective {wait.seq}" if wait.seq is not None else ""
        parts.append(f"waited in {call(wait)}{seq}")
    elif wait is not None and wait.completed is not None:
        parts.append(f"completed collective {wait.completed} and called no other")
    elif "follows" in kinds and "began" not in kinds:
        parts.append("lost peers or waited for them")
    if lane.state == "silent" and "began" not in kinds:
        parts.append("never reported")
    parts += _endings(lane, kinds)
    if not parts:
        them = "them" if lane.ranks[1:] else "it"
        parts.append(f"no line says what became of {them}" if "last" in kinds else "not in the input")
    return ", then ".join(parts)


def _beginning(lane: Lane) -> str:
    if lane.state in ("silent", "unknown"):
        return "never reported: the others waited for it in vain"
    return "began it" if lane.state == "initiating" or not lane.ranks else "began another failure"


def call(wait: Wait) -> str:
    """Write an operation with its size."""
    if not wait.size.isdigit() or wait.size == "0":
        return wait.op
    return f"{wait.op} of {int(wait.size):,} element{'s' * (wait.size != '1')}"


def _of_machines(lane: Lane, kinds: set[MarkKind]) -> str:
    said: dict[MarkKind, str] = {
        "machine": "recorded a fault",
        "error": "printed an error",
        "stopped": "stopped the rest",
        "summary": "told how it ended",
        "completed": "reported the end of the run",
    }
    parts = [text for kind, text in said.items() if kind in kinds]
    if lane.works_until is not None:
        parts.insert(0, "printed steps")
    return ", then ".join(parts) or "told what followed"


def _endings(lane: Lane, kinds: set[MarkKind]) -> list[str]:
    if "completed" in kinds:
        return ["completed"]
    ended = sum(
        mark.ranks for mark in lane.marks if mark.name.startswith(("exit-code-", "signal-")) and mark.kind == "ended"
    )
    if "ended" in kinds and "stopped" in kinds:
        return [f"stopped, {ended} with an error" if ended else "stopped"]
    if "ended" in kinds:
        return ["ended with an error"]
    if "stopped" not in kinds:
        return []
    return ["told to stop" if lane.state == "torn-down" else "stopped"]


def short_place(file: str, line: int) -> str:
    """Write a place; of a long path its end, which tells the files of ranks apart."""
    if len(file) > _MOST_PLACE:
        folders = file.split("/")
        while len(folders) > 1 and len("/".join(folders)) > _MOST_PLACE:
            folders = folders[1:]
        file = "…/" + "/".join(folders)[-_MOST_PLACE:]
    return f"{file}:{line}"


def told(mark: Mark) -> str:
    """Say in words what a mark is."""
    if mark.kind == "last":
        return "last line"
    if mark.kind == "summary":
        return "the launcher's account of the end"
    if mark.name.startswith("exit-code-"):
        return f"ended with exit code {mark.name.removeprefix('exit-code-')}"
    if mark.name.startswith("signal-"):
        number = mark.name.removeprefix("signal-")
        name = f" ({_SIGNALS[number]})" if number in _SIGNALS else ""
        return f"ended by signal {number}{name}"
    if mark.name == "located":
        return "located by comparing the ranks"
    if mark.note and mark.kind in ("follows", "stopped", "stands"):
        return mark.note
    words = mark.name.replace("-", " ")
    return {"exception line": "exception", "run complete": "the run reports its end"}.get(words, words)


def is_code(mark: Mark) -> bool:
    """Say whether a mark states how a process ended by its number."""
    return mark.name.startswith(("exit-code-", "signal-"))
