"""Where a living process stood: its threads and their frames."""

from __future__ import annotations

from msgspec import Struct, field


class Frame(Struct, frozen=True):
    """One frame, its file shortened as py-spy does it: `deepspeed/runtime/zero/stage3.py`."""

    function: str
    file: str
    line: int | None = None
    number: int = 0  # of the line of the input that shows it

    @property
    def text(self) -> str:
        """The frame as py-spy prints it, which is what signatures of stacks match."""
        return (
            f"{self.function} ({self.file}:{self.line})" if self.line is not None else f"{self.function} ({self.file})"
        )

    @property
    def brief(self) -> str:
        """The function's own name and its place, for a sentence."""
        name = self.function.rsplit(".", 1)[-1] if not self.function.endswith(">") else self.function
        place = f"{self.file}:{self.line}" if self.line is not None else self.file
        return f"{name} ({place})"


class Thread(Struct):
    """A thread and its frames, the innermost first."""

    name: str = ""
    number: int = 0  # of the line of its head
    frames: list[Frame] = field(default_factory=list)


class Process(Struct):
    """A process of a dump; its rank is unknown where neither file, command line nor locals say it."""

    file: str
    first: int  # line of the input where its dump begins
    last: int  # and ends
    pid: int | None = None
    rank: int | None = None
    local_rank: int | None = None
    command: str = ""
    threads: list[Thread] = field(default_factory=list)
    fatal: bool = False  # printed when the process crashed: it did not stand still there
    nameless: int = 0  # tells processes of one file apart that state no pid

    @property
    def main(self) -> Thread | None:
        """The thread that runs the training script."""
        threads = [thread for thread in self.threads if thread.frames]
        named = next((thread for thread in threads if thread.name == "MainThread"), None)
        if named is not None:
            return named
        script = next((thread for thread in threads if thread.frames[-1].function in _OUTERMOST), None)
        return script or (threads[-1] if threads else None)

    @property
    def label(self) -> str:
        """The process as a sentence names it."""
        if self.rank is not None:
            return f"rank {self.rank}"
        return f"process {self.pid}" if self.pid is not None else f"the process at {self.file}:{self.first}"


_OUTERMOST = frozenset({"<module>", "_run_code", "_run_module_as_main", "spawn_main", "_start", "main"})
