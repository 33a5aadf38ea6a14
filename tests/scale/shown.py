"""Whether a log shows who began the failure: what its label asks must be there to be read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from tests.scale.job import Job
from tests.scale.label import Label

# The rank in `[Rank 3]` is that of the group; where PyTorch has no prefix of its own (2.1), there is one group here.
WAITED = re.compile(r"\[rank(\d+)\]:\[E|\[E [^\]]*\] \[Rank (\d+)\] Watchdog caught")
ACCOUNT = re.compile(
    r"rank      :|: tasks? |mpirun noticed|Process name:|return code =|has failed\.|RayTaskError|worker died"
)


def names(job: Job, rank: int) -> re.Pattern[str]:
    """Spell all that ties a line, or the path of its file, to a rank."""
    local, host = job.local(rank), job.host(rank)
    ways = (
        rf"\[?[Rr]ank:? ?{rank}\b",  # the program's own word, torch's and Lightning's prefixes
        rf"^ *{rank}: ",  # srun --label
        rf"^ *{job.node(rank)}: \[default{local}\]:",
        rf"^\[1,{rank}\]<",
        rf"rank_{rank:05d}\.log",
        rf"^{host}/\w+/attempt_\d+/{local}/",
        rf"rank      : {rank} \(",
        rf"{host}: tasks? [\d,-]*\b{rank}\b",
        rf"process rank {rank} ",
        rf",1\],{rank}\]",
        rf"^{host}: .*--local_rank={local}'",
        rf"Worker {rank} has failed",
        rf"\b{job.pids[rank]}\b",  # processes stand beside their ranks where launchers tell of them
    )
    return re.compile("|".join(ways))


def shows(job: Job, label: Label, files: Mapping[str, Sequence[str]]) -> bool:
    """Say whether the files show the rank of a label: its decisive words, or the silence of this rank alone."""
    rank = label.cause.rank
    if rank is None:
        return True
    if not label.shown:
        waited = {int(next(filter(None, found))) for line in every(files) for found in WAITED.findall(line)}
        return waited == set(job.others(rank))
    own = names(job, rank)
    said = tied = False
    for name, lines in files.items():
        for line in lines:
            here = any(words in line for words in label.shown)
            said |= here
            tied |= (here or bool(ACCOUNT.search(line))) and bool(own.search(line) or own.search(name))
    return said and tied


def every(files: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Give the lines of all files."""
    for lines in files.values():
        yield from lines
