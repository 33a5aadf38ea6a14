"""What to do now: the entry's action with the places it concerns, or what to collect where nothing was recognised."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath

from msgspec import structs

from denpex_kb.model.diagnosis import ActionAdvice, Diagnosis
from denpex_kb.model.display import one_line, spans
from denpex_kb.model.entry import Entry

_STACKS = "the stacks of all ranks (`denpex capture` on every node while it hangs, or `py-spy dump --pid PID`)"
_RECORDER = (
    "the flight recorder (start with `TORCH_NCCL_TRACE_BUFFER_SIZE=2000` and `TORCH_NCCL_DUMP_ON_TIMEOUT=1`,"
    " files /tmp/nccl_trace_rank_*)"
)
_LOGS = "one log per rank from the first line on (torchrun: `--log-dir logs --redirects 3`)"
_EXCEPTION = re.compile(r"[A-Za-z_][\w.]{0,160}(?:Error|Exception|Interrupt|Timeout|Exit)\b.{0,40}:")
_MOST_SPANS = 8
_RANK = re.compile(r"rank (\d+)")
_HOST = "`dmesg -T | tail -200` of the nodes"


def entry_action(entry: Entry, targets: Sequence[str]) -> ActionAdvice:
    """Return an entry's action, naming the places that it concerns."""
    action = entry.meta.action
    return ActionAdvice(action.kind, _with_places(action.text, targets), action.restart_helps)


def pointed(action: ActionAdvice, diagnosis: Diagnosis) -> ActionAdvice:
    """Begin an action that says to look for the cause with the error that the input shows.

    Args:
        action: of an entry that says only what kind of thing happened.
        diagnosis: what was found.
    """
    error = diagnosis.first_error
    if error is None or not _EXCEPTION.match(error.text):
        return action
    place = f"{one_line(PurePath(error.file).name)}:{error.line}"
    return structs.replace(
        action, text=f"Start with the error at {place}: it is the cause, or next to it. {action.text}"
    )


def fallback_action(diagnosis: Diagnosis) -> ActionAdvice:
    """Return what to do where no entry fits: nothing for a healthy run, else what to collect next."""
    if diagnosis.verdict == "healthy":
        return ActionAdvice("wait", "Nothing failed; leave the run alone.", False)
    text = f"Collect {_joined(_wanted(diagnosis))}. Then run `denpex diagnose` on the folder that holds it all."
    if diagnosis.input.kind == "question":
        text += " `denpex chat` asks you what decides."
    return ActionAdvice("capture", _with_places(text, diagnosis.targets), None)


def _wanted(diagnosis: Diagnosis) -> list[str]:
    if diagnosis.input.kind == "question":
        return ["the last 200 lines of every rank, or the whole log", f"if it hangs: {_STACKS}"]
    wanted = []
    missing = missing_ranks(diagnosis)
    if missing:
        wanted.append(f"the logs of {missing}, which are not in the input")
    if diagnosis.verdict == "stalled":
        wanted += [_STACKS, _RECORDER, _HOST]
    elif diagnosis.first_error is None:
        wanted += [*([] if missing else [_LOGS]), f"if it still runs or hangs: {_STACKS}", _HOST]
    else:
        rank = f"rank {diagnosis.first_error.rank}" if diagnosis.first_error.rank is not None else "the failing rank"
        wanted += [f"the whole log of {rank}, with the lines before its first error", "`pip freeze`", _HOST]
    return wanted


def missing_ranks(diagnosis: Diagnosis) -> str:
    """Name the ranks of the job that the input does not show; empty where it shows all, or where nobody knows."""
    world, known = diagnosis.input.world_size, set(diagnosis.input.ranks)
    if not world or not known or len(known) >= world:
        return ""
    missing = [rank for rank in range(world) if rank not in known]
    return f"rank{'s' * (len(missing) > 1)} {spans(missing, _MOST_SPANS)}"


def _with_places(text: str, targets: Sequence[str]) -> str:
    unnamed = [target for target in targets if target not in text]
    ranks = [int(match[1]) for target in unnamed if (match := _RANK.fullmatch(target))]
    others = [target for target in unnamed if not _RANK.fullmatch(target)]
    named = [f"rank{'s' * (len(ranks) > 1)} {spans(ranks, _MOST_SPANS)}"] * bool(ranks) + others
    return f"{text} Concerns {', '.join(named)}." if named else text


def _joined(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{'; '.join(parts[:-1])}; and {parts[-1]}"
